package experiment

import "time"

// WorkloadKey names work on a fixture, by whose noise floor it is judged.
func WorkloadKey(fixture string, w Workload) string {
	return (&Definition{Workload: w}).workloadKey(fixture)
}

// FloorFor is the newest noise floor of a machine and workload, nil when there is
// none.
func (s *Store) FloorFor(machine, workload string) (*Floor, error) { return s.floor(machine, workload) }

// KeepFloor puts a noise floor on the record.
func (s *Store) KeepFloor(f *Floor) error {
	w, err := s.Append(floorsName)
	if err != nil {
		return err
	}
	if err := w.Write(&Line{Run: "floor", At: time.Now().UTC(), Floor: f}); err != nil {
		return err
	}
	return w.Close()
}
