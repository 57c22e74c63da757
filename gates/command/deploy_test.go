package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

var (
	shardCommand = regexp.MustCompile(`(?:\./|/tmp/|\s|^)validate (gates|merge) [^\n]*`)
	longFlag     = regexp.MustCompile(`--([a-z][a-z-]*)`)
)

func TestShardExamplesAreYAMLAndUseFlagsThatExist(t *testing.T) {
	root := rootCommand(&shell{out: io.Discard, err: io.Discard})
	for _, name := range []string{".github/workflows/shards.yml", "deploy/kubernetes/shards.yaml", "deploy/kubernetes/merge.yaml", "docs/shards.md"} {
		b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		require.NoError(t, err)
		if !strings.HasSuffix(name, ".md") {
			d := yaml.NewDecoder(bytes.NewReader(b))
			for {
				var doc map[string]any
				if err := d.Decode(&doc); errors.Is(err, io.EOF) {
					break
				} else {
					require.NoError(t, err, name)
				}
				assert.NotEmpty(t, doc, name)
			}
		}
		commands := shardCommand.FindAllStringSubmatch(string(b), -1)
		assert.NotEmpty(t, commands, name)
		for _, c := range commands {
			sub, _, err := root.Find([]string{c[1]})
			require.NoError(t, err)
			for _, f := range longFlag.FindAllStringSubmatch(c[0], -1) {
				assert.NotNil(t, sub.Flags().Lookup(f[1]), "%s: validate %s has no --%s", name, c[1], f[1])
			}
		}
	}
}

// The loop of the pods, as the manifest has it: indices count from 0, shards from 1.
func TestTheIndexedJobCoversEveryShard(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kubernetes", "shards.yaml"))
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(b))
	var job struct {
		Kind string
		Spec struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct {
					Containers []struct {
						Env  []struct{ Name, Value string }
						Args []string
					}
				}
			}
		}
	}
	for job.Kind != "Job" {
		require.NoError(t, d.Decode(&job))
	}
	assert.Equal(t, "Indexed", job.Spec.CompletionMode)
	c := job.Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	assert.Equal(t, "4", env["SHARDS"])
	assert.Equal(t, 4, job.Spec.Completions, "as many as SHARDS")
	assert.Contains(t, c.Args[0], `--shard "$((JOB_COMPLETION_INDEX + 1))/$SHARDS"`)
}
