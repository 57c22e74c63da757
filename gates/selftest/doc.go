// Package selftest turns the harness on itself: it seeds faults that gates and
// verdicts must catch (slow kernels, a wrong logit, a stale ledger, a gate that
// cannot run, a flipped bit, an impossible figure), and measures how often verdicts
// are wrong where nothing changed and how often they find what did. It must not
// know how a gate or a rule comes to its answer, only which answer is right.
package selftest
