package history

import (
	_ "embed"
	"fmt"

	"gopkg.in/yaml.v3"
)

//go:embed rows.yaml
var rowsFile []byte

// Row is one primitive that other engines publish figures of.
type Row struct {
	Row       string `yaml:"row"`
	Workload  string `yaml:"workload"`
	Entry     string `yaml:"entry"` // that times it here
	Published string `yaml:"published"`
}

// Rows lists the primitives that this engine has.
func Rows() ([]Row, error) {
	var all []Row
	if err := yaml.Unmarshal(rowsFile, &all); err != nil {
		return nil, fmt.Errorf("history: rows.yaml: %w", err)
	}
	return all, nil
}
