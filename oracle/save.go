package oracle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"
)

// Save writes e into dir: first evidence.safetensors, then manifest.yaml with the hash of it and of each tensor, each under a
// temporary name and renamed when complete. What the format does not allow is refused before anything is written.
func Save(dir string, e *Evidence) error {
	m := e.Manifest
	m.Format = Format
	list := make([]*Tensor, 0, len(e.Tensors))
	m.TensorSHA256 = make(map[string]string, len(e.Tensors))
	for _, name := range e.Names() {
		t := e.Tensors[name]
		m.TensorSHA256[name] = hash(t.data)
		list = append(list, t)
	}
	m.EvidenceSHA256 = ""
	if err := m.check(filepath.Join(dir, ManifestName)); err != nil {
		return err
	}
	probe := &Evidence{Dir: dir, Manifest: m, Tensors: e.Tensors}
	for _, t := range list {
		if err := probe.checkTensorBytes(t); err != nil {
			return inFile(filepath.Join(dir, TensorsName), err)
		}
	}
	if err := probe.checkTensors(); err != nil {
		return inFile(filepath.Join(dir, TensorsName), err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	h := sha256.New()
	err := writeAtomic(filepath.Join(dir, TensorsName), func(w io.Writer) error {
		meta := map[string]string{"format": Format, "engine": m.Engine.Name + " " + m.Engine.Version}
		return writeContainer(io.MultiWriter(w, h), list, meta)
	})
	if err != nil {
		return err
	}
	m.EvidenceSHA256 = hex.EncodeToString(h.Sum(nil))
	text, err := encodeManifest(&m)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, ManifestName), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func encodeManifest(m *Manifest) (text []byte, err error) {
	defer func() { // the YAML encoder panics on values it cannot write, which Extra and Holds may hold
		if r := recover(); r != nil {
			err = fmt.Errorf("oracle: manifest: %v", r)
		}
	}()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("oracle: manifest: %w", err)
	}
	return b.Bytes(), enc.Close()
}

// writeAtomic writes path through a temporary file beside it, so that nobody ever sees half of it.
func writeAtomic(path string, fill func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close() // a second time changes nothing
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
