package snapshots

// The benchmark format assay-bench/1: complete phases of one engine, or of two
// interleaved.

// BenchFormat is the value of Bench.Format.
const BenchFormat = "assay-bench/1"

// Machine is where it was measured.
type Machine struct {
	CPU        string  `json:"cpu"`
	Cores      int     `json:"cores"`
	Level      string  `json:"level"`
	Go         string  `json:"go"`
	GOMAXPROCS int     `json:"gomaxprocs"`
	OS         string  `json:"os"`
	ReadGBs    float64 `json:"read_gbs,omitempty"`   // measured read bandwidth, GB/s
	Int8GMACs  float64 `json:"int8_gmacs,omitempty"` // measured int8 multiply-adds, 1e9/s
	Threads    int     `json:"threads,omitempty"`    // of the two ceilings
}

// Bench is one benchmark run.
type Bench struct {
	Format      string     `json:"format"`
	Machine     Machine    `json:"machine"`
	Model       BenchModel `json:"model"`
	Threads     int        `json:"threads"`
	Activations string     `json:"activations"`
	Runs        []Run      `json:"runs"`
	Ratios      []Ratio    `json:"ratios,omitempty"`
	Warnings    []string   `json:"warnings,omitempty"`
}

// BenchModel is what was run.
type BenchModel struct {
	Path                 string `json:"path"`
	SHA256               string `json:"sha256"`
	Family               string `json:"family"`
	Format               string `json:"format"`
	Bytes                int64  `json:"bytes"`
	WeightsPerTokenBytes int64  `json:"weights_per_token_bytes"`
	MACsPerToken         int64  `json:"macs_per_token"`
}

// Run is one engine's samples.
type Run struct {
	Engine       string       `json:"engine"`
	Version      string       `json:"version"`
	IDsSHA256    string       `json:"ids_sha256"` // of the fed ids: both engines did the same work
	PeakRSSBytes int64        `json:"peak_rss_bytes"`
	Phases       []BenchPhase `json:"phases"`
}

// BenchPhase is one phase's samples, in seconds.
type BenchPhase struct {
	Phase        string    `json:"phase"`
	Tokens       int       `json:"tokens"`
	Samples      []float64 `json:"samples_s"`
	Median       float64   `json:"median_s"`
	Low          float64   `json:"low_s"`
	High         float64   `json:"high_s"`
	TokensPerSec float64   `json:"tokens_per_s"`
	Ceiling      string    `json:"ceiling"` // bandwidth, int8, none
	OfCeiling    float64   `json:"of_ceiling"`
	Void         string    `json:"void,omitempty"` // why these times mean nothing
}

// Ratio is the peer's time over ours, median of the interleaved pairs.
type Ratio struct {
	Phase   string  `json:"phase"`
	Of      string  `json:"of"`
	Speedup float64 `json:"speedup"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// Void tells whether some phase is void: the question could not be answered.
func (b *Bench) Void() bool {
	for _, r := range b.Runs {
		for _, p := range r.Phases {
			if p.Void != "" {
				return true
			}
		}
	}
	return false
}
