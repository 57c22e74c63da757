// The plan of the house as a test: which room may use which, and what every
// room has. CONTRIBUTING.md says why.
package assay_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "assay"

// rooms tells what each folder, and everything below it, may import of this
// module; "x" allows x and all below it. The longest matching name rules.
// A room may always use what lies below itself.
var rooms = map[string][]string{
	"cmd/validate": {"gates"},
	"cmd/llm":      {"engine", "cmd/llm"},

	"gates":     {"gates", "oracle", "snapshots", "fixtures", "engine", "kernels"},
	"oracle":    {"oracle", "engine/checkpoint", "kernels/quant"},
	"snapshots": {},
	"fixtures":  {},

	"engine":            {"engine", "kernels"},
	"engine/checkpoint": {"kernels/quant"},
	"engine/decoder":    {"engine/checkpoint", "engine/kv", "kernels"},
	"engine/kv":         {"kernels"},
	"engine/sample":     {"kernels/arith"},
	"engine/tokenizer":  {"engine/checkpoint", "kernels/quant"},

	"kernels": {"kernels"},
}

// testRooms is what tests may import besides: recordings and tiny models, and
// never what stands above the room under test.
var testRooms = map[string][]string{
	"cmd/validate": {"oracle", "snapshots", "fixtures", "engine", "kernels"},
	"cmd/llm":      {"fixtures"},
	"oracle":       {"fixtures"},
	"snapshots":    {"fixtures"},
	"engine":       {"fixtures"},
}

// tooLong is the length from which a file holds more than one idea.
const tooLong = 500 // lines

// sourceFile is one Go file with the imports of this module, shortened to the
// path below the module, and those of others.
type sourceFile struct {
	path, dir, pkg string
	test           bool
	own, foreign   []string
	hasDoc         bool
}

func TestImportsFollowThePlanOfTheRooms(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.dir == "." {
			continue
		}
		room := roomOf(f.dir)
		if !assert.NotEmpty(t, room, "%s: this folder is in no room of the plan", f.path) {
			continue
		}
		for _, used := range f.own {
			ok := allows(append(rooms[room], room), used)
			if f.test {
				ok = ok || allows(testRooms[top(room)], used)
			}
			assert.True(t, ok, "%s imports %s: room %s must not know it", f.path, used, room)
		}
	}
}

func TestGeneratorsCarryNeitherOraclesNorTheirLoader(t *testing.T) {
	uses := map[string][]string{}
	foreign := map[string][]string{}
	for _, f := range goFiles(t) {
		if !f.test {
			uses[f.dir] = append(uses[f.dir], f.own...)
			foreign[f.dir] = append(foreign[f.dir], f.foreign...)
		}
	}
	seen := map[string]bool{}
	var walk func(dir string)
	walk = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		assert.NotContains(t, foreign[dir], "github.com/ebitengine/purego", "%s: a static program opens no library", dir)
		for _, used := range uses[dir] {
			walk(used)
		}
	}
	walk("cmd/llm/llmgen")
	assert.True(t, seen["engine/decoder"])
	for dir := range seen {
		assert.False(t, allows([]string{"oracle", "gates"}, dir), "llmgen carries %s", dir)
	}
}

func TestNothingNeedsCgo(t *testing.T) {
	for _, f := range goFiles(t) {
		assert.NotContains(t, f.foreign, "C", f.path)
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		documented[f.dir] = documented[f.dir] || f.hasDoc && (f.pkg == "main" || path.Base(f.path) == "doc.go")
	}
	for dir, has := range documented {
		assert.True(t, has, "%s: no doc.go that says what it is for and what it must not know", dir)
	}
}

func TestNamesTellWhatIsInside(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}
	for _, f := range goFiles(t) {
		for _, name := range append(strings.Split(f.dir, "/"), f.pkg) {
			assert.NotContains(t, vague, name, f.path)
		}
	}
}

var generated = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.$`)

func TestFilesHoldOneIdea(t *testing.T) {
	walk(t, func(name string) {
		switch filepath.Ext(name) {
		case ".go", ".s", ".sh":
		default:
			return
		}
		lines, machine := measure(t, name)
		if !machine {
			assert.Less(t, lines, tooLong, "%s: split it", name)
		}
	})
}

// measure counts lines and tells whether a program wrote them.
func measure(t *testing.T, name string) (lines int, machine bool) {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		lines++
		machine = machine || generated.MatchString(s.Text())
	}
	require.NoError(t, s.Err(), name)
	return lines, machine
}

// roomOf is the longest name in rooms that holds the folder.
func roomOf(dir string) (room string) {
	for name := range rooms {
		if allows([]string{name}, dir) && len(name) > len(room) {
			room = name
		}
	}
	return room
}

// top is the room by which tests are judged.
func top(room string) string {
	if parts := strings.Split(room, "/"); parts[0] != "cmd" {
		return parts[0]
	}
	return room
}

func allows(names []string, dir string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return dir == n || strings.HasPrefix(dir, n+"/") })
}

func goFiles(t *testing.T) []sourceFile {
	var files []sourceFile
	walk(t, func(name string) {
		if filepath.Ext(name) != ".go" {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		require.NoError(t, err)
		files = append(files, describe(t, name, parsed))
	})
	require.NotEmpty(t, files)
	return files
}

func describe(t *testing.T, name string, parsed *ast.File) sourceFile {
	f := sourceFile{path: name, dir: path.Dir(name), pkg: parsed.Name.Name, hasDoc: parsed.Doc != nil}
	f.test = strings.HasSuffix(name, "_test.go")
	for _, spec := range parsed.Imports {
		used, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if own, ok := strings.CutPrefix(used, module+"/"); ok {
			f.own = append(f.own, own)
		} else {
			f.foreign = append(f.foreign, used)
		}
	}
	return f
}

// walk visits the files of the module, by slash-separated names. Folders that
// the go command ignores are left out: the assembly generators are a module of
// their own.
func walk(t *testing.T, visit func(name string)) {
	require.NoError(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		switch {
		case !d.IsDir():
			visit(filepath.ToSlash(name))
		case name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return filepath.SkipDir
		}
		return nil
	}))
}
