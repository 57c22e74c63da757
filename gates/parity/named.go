package parity

import "assay/oracle"

// RecordedNode is the tensor of a recording that holds one of our intermediates of
// a layer, under whichever name its engine gives it; nil when it has none.
func RecordedNode(e *oracle.Evidence, prompt int, name string, layer int) *oracle.Tensor {
	full := recordedNode(e, prompt, name, layer)
	if full == "" {
		return nil
	}
	return e.Tensor(prompt, "node."+full)
}

// DefaultDiverges is the relative RMS above which a tensor of another engine counts
// as divergent when nothing else is said.
const DefaultDiverges = defaultDiverges
