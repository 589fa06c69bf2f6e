//go:build planted

package engine

// planted is the defect a machine has on purpose, so that package sim can show
// that it would find it.
type planted struct{ defect string }

func (p planted) hasDefect(defect string) bool { return p.defect == defect }

// Plant adds a defect to a machine, one of Defects, for tests that must find it.
func (m *Machine) Plant(defect string) { m.defect = defect }

// Defects are the bugs that can be planted here.
func Defects() []string {
	return []string{"skip the unknown step", "undo in forward order", "repeat every plugin",
		"ready before probe", "accept a stale generation", "delete beside the plugin",
		"effect before intent", "leave strays",
		"wait for an answer for ever", "take a started job for done",
		"forget that a job was started", "let a job run for ever",
		"prepare sandboxes behind a question"}
}
