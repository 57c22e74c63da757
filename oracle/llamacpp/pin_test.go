package llamacpp

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheScriptInstallsTheReleaseThatTheBindingKnows(t *testing.T) {
	b, err := os.ReadFile("../../scripts/llamacpp.sh")
	require.NoError(t, err)
	at := strings.LastIndex(Package, "@")
	assert.Contains(t, string(b), "package="+Package[:at]+"\n")
	assert.Contains(t, string(b), "version="+Package[at+1:]+"\n")
	assert.Contains(t, string(b), "libllama.v"+Release+".so")
	assert.Contains(t, string(b), ".cache/llamacpp")
}
