package engine

import "time"

// The phases that the engine times, each with an exact count of tokens.
const (
	PhaseLoad     = "load"     // map, parse and validate the file
	PhasePrepare  = "prepare"  // repack the weights
	PhasePrompt   = "prompt"   // evaluate the prompt, to the logits of its last token
	PhaseBoundary = "boundary" // choose the first output id from them
	PhaseDecode   = "decode"   // evaluate output ids one by one; 48 ids are 47 evaluations
	PhaseRestore  = "restore"  // bring a snapshot back
)

// Phase is the time that one phase took.
type Phase struct {
	Name     string
	Tokens   int // evaluated, chosen or restored in the phase
	Duration time.Duration
}

// clock adds up phases.
type clock struct{ phases []Phase }

func (c *clock) add(name string, tokens int, start time.Time) {
	d := time.Since(start)
	for i := range c.phases {
		if c.phases[i].Name == name {
			c.phases[i].Tokens += tokens
			c.phases[i].Duration += d
			return
		}
	}
	c.phases = append(c.phases, Phase{name, tokens, d})
}
