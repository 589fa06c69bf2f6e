package postgres_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/nullops/nullops/controlplane/postgres"
)

// mostOfSubject is how many methods a subject may have before it must be split.
const mostOfSubject = 35

func TestTx_HasOneHandlePerSubject(t *testing.T) {
	ofTx := []string{"DatabaseTime", "LockObject", "NotifyOnCommit", "RecordChange",
		"SetRequestID"}
	tx := reflect.TypeFor[*postgres.Tx]()
	for m := range tx.Methods() {
		if slices.Contains(ofTx, m.Name) {
			continue
		}
		if m.Type.NumIn() != 1 || m.Type.NumOut() != 1 || m.Type.Out(0).Name() != m.Name {
			t.Errorf("Tx.%s is about rows: make it a method of a subject, see subjects.go", m.Name)
			continue
		}
		if n := m.Type.Out(0).NumMethod(); n == 0 || n > mostOfSubject {
			t.Errorf("subject %s has %d methods; want 1 to %d", m.Name, n, mostOfSubject)
		}
	}
}
