package gates

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"

	"assay/gates/shard"
)

// shard gives the cases of the shard that was asked for and notes in the report
// what it belongs to.
func (r *run) shard(cases []Case) ([]Case, error) {
	part := r.options.Shard
	if part.Whole() {
		return cases, nil
	}
	names := make([]shard.Case, len(cases))
	for i := range cases {
		names[i] = shard.Case{Name: cases[i].String(), Kind: string(cases[i].Kind)}
	}
	revision, err := identity()
	if err != nil {
		return nil, err
	}
	r.report.Shard, r.report.Shards = part.Index, part.Of
	r.report.CasesSHA256, r.report.Revision = shard.Sum(names), revision
	var mine []Case
	for _, i := range part.Split(names) {
		c := cases[i]
		c.place = i + 1
		mine = append(mine, c)
	}
	r.report.Cases = len(mine)
	return mine, nil
}

// identity is the full revision that this program was built of; where the Go
// command did not record a clean one, the SHA-256 of the program.
func identity() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		set := map[string]string{}
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
		if set["vcs.revision"] != "" && set["vcs.modified"] == "false" {
			return set["vcs.revision"], nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "program " + hex.EncodeToString(h.Sum(nil)), nil
}
