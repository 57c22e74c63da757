package ledger

import (
	"path/filepath"

	"assay/gates/history"
	"assay/snapshots"
)

// tree is what a source tree has: its files and its committed snapshots, oldest
// first.
type tree struct {
	sources *history.Sources
	records []*snapshots.Report
}

func readTree(root string) (*tree, error) {
	sources, err := history.ReadSources(root)
	if err != nil {
		return nil, err
	}
	store := history.Store{Dir: filepath.Join(root, filepath.FromSlash(history.Committed))}
	records, err := store.List()
	if err != nil {
		return nil, err
	}
	return &tree{sources, records}, nil
}

// newest is the newest snapshot that counts and of which a question has an answer.
func (t *tree) newest(answers func(r *snapshots.Report) bool) (last *snapshots.Report) {
	for _, r := range t.records {
		if r.Superseded == nil && answers(r) {
			last = r
		}
	}
	return last
}

// aged says whether what gates hold to something has changed since a snapshot.
func (t *tree) aged(r *snapshots.Report) string {
	for name, hash := range t.sources.Hashes(t.sources.OfGates()) {
		if r.Sources[name] != hash {
			return "; what is held has changed since"
		}
	}
	return ""
}

// link points at the page of a snapshot.
func link(r *snapshots.Report) string {
	return "[" + r.Name + "](" + history.Committed + "/" + r.Name + "/snapshot.md)"
}
