package snapshots

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteJSON writes a report, indented, with a final newline.
func WriteJSON(w io.Writer, r *Report) error { return writeJSON(w, r) }

// WriteBenchJSON writes a benchmark in the format assay-bench/1.
func WriteBenchJSON(w io.Writer, b *Bench) error { return writeJSON(w, b) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Skipped  int           `xml:"skipped,attr"`
	Time     string        `xml:"time,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string          `xml:"name,attr"`
	Tests     int             `xml:"tests,attr"`
	Failures  int             `xml:"failures,attr"`
	Errors    int             `xml:"errors,attr"`
	Skipped   int             `xml:"skipped,attr"`
	Time      string          `xml:"time,attr"`
	Timestamp string          `xml:"timestamp,attr"`
	Host      []junitProperty `xml:"properties>property"`
	Cases     []junitCase     `xml:"testcase"`

	seconds float64
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a report for CI systems: a suite for each gate; a check that
// failed is a failure, one that is void an error; what was skipped or not
// available is skipped, never passed.
func WriteJUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: "assay", Time: seconds(r.Seconds)}
	suites := map[string]*junitSuite{}
	for i := range r.Results {
		x := &r.Results[i]
		s := suites[x.Gate]
		if s == nil {
			s = &junitSuite{Name: x.Gate, Timestamp: r.Started.UTC().Format(time.RFC3339), Host: []junitProperty{
				{"version", r.Version}, {"cpu", r.Machine.CPU}, {"level", r.Machine.Level}, {"go", r.Machine.Go}, {"os", r.Machine.OS},
			}}
			suites[x.Gate] = s
			all.Suites = append(all.Suites, s)
		}
		s.add(x)
	}
	for _, s := range all.Suites {
		s.Time = seconds(s.seconds)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(x *Result) {
	c := junitCase{Class: x.Gate, Name: strings.TrimSpace(x.Check + " " + x.Fixture), Time: seconds(x.Seconds)}
	if x.Phase != "" {
		c.Name += " (" + x.Phase + ")"
	}
	text := &junitText{Message: firstLine(x.said()), Type: x.Rung, Text: x.said()}
	if x.Why != "" {
		text.Text += "\nThe tolerance: " + x.Why
	}
	if x.Verdict != Failed && x.Detail != "" {
		text.Message = firstLine(x.Detail)
	}
	s.Tests++
	s.seconds += x.Seconds
	switch x.Verdict {
	case Failed:
		s.Failures++
		c.Failure = text
	case Void:
		s.Errors++
		c.Error = text
	case Skipped, Missing:
		s.Skipped++
		c.Skipped = &junitText{Message: string(x.Verdict) + ": " + text.Message}
	default:
		c.Out = text.Text
	}
	s.Cases = append(s.Cases, c)
}

func seconds(s float64) string { return fmt.Sprintf("%.6f", s) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
