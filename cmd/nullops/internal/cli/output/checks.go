package output

import "io"

// Check is what a doctor found about one thing, as people and scripts read it.
type Check struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Detail says what was found, Remedy what to do unless it is fine.
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Severity is how bad what a check found is.
type Severity string

// What a check can find.
const (
	SeverityOK       Severity = "ok"
	SeverityWarning  Severity = "warning"
	SeverityCritical Severity = "critical"
)

// PrintChecks prints a table of checks, with the remedy below each that is not fine.
func PrintChecks(out io.Writer, all []Check) error {
	rows := [][]string{{"SEVERITY", "CHECK", "FOUND"}}
	for _, c := range all {
		rows = append(rows, []string{string(c.Severity), c.ID, c.Detail})
		if c.Severity != SeverityOK && c.Remedy != "" {
			rows = append(rows, []string{"", "", "→ " + c.Remedy})
		}
	}
	return PrintTable(out, rows)
}
