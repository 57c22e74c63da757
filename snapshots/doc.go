// Package snapshots is what a run leaves behind: the data of a report, and the
// code that renders it for people (terminal, Markdown) and machines (JSON,
// JUnit, Go benchmark format). It must not know how anything was measured.
package snapshots
