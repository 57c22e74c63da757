package cross

// Target is an operating system and a processor.
type Target struct {
	OS, Arch string
	// Emulator runs its programs on another processor; "": they can only be
	// compiled, unless the target is this machine's own.
	Emulator string
	// Models is the ladder of CPU models of the emulator, weakest first, each with
	// the reason why it stands there.
	Models []Model
}

// Model is one CPU model of an emulator.
type Model struct{ Name, Why string }

// String is "linux/arm64".
func (t *Target) String() string { return t.OS + "/" + t.Arch }

// Targets are the processors that the project speaks of.
var Targets = []Target{
	{OS: "linux", Arch: "amd64", Emulator: "qemu-x86_64-static", Models: []Model{
		{"Nehalem-v1", "no AVX at all: the scalar path must be found by itself"},
		{"Haswell-v4", "AVX2, FMA and F16C, nothing newer"},
	}},
	{OS: "linux", Arch: "arm64", Emulator: "qemu-aarch64-static", Models: []Model{
		{"cortex-a53", "no dot-product instructions"},
		{"max", "everything that the emulator knows, scalable vectors included"},
	}},
	{OS: "linux", Arch: "riscv64", Emulator: "qemu-riscv64-static", Models: []Model{
		{"rv64,v=false", "no vector extension"},
		{"rv64,v=true", "with the vector extension"},
	}},
	{OS: "darwin", Arch: "arm64"},
	{OS: "windows", Arch: "amd64"},
}

// Packages whose tests run everywhere, and the test that holds the golden bits.
var (
	kernelPackages = []string{"./kernels/..."}
	enginePackages = []string{"./engine/..."}
	goldenPackage  = "./gates"
	goldenTest     = "^TestGoldenBits$"
)
