package audit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Our own program has no statement that changes an entry. It deletes in one place
// only: retention, which cuts the chain behind a checkpoint.
func TestAudit_HasNoUpdatePath(t *testing.T) {
	files, err := filepath.Glob("../postgres/queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)--.*$`)
	changes := regexp.MustCompile(`(?i)\b(UPDATE\s+(?:ONLY\s+)?audit\b|DELETE\s+FROM\s+audit\b|` +
		`TRUNCATE\s+(?:TABLE\s+)?audit\b|MERGE\s+INTO\s+audit\b|INSERT\s+INTO\s+audit\b)`)
	var found []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range strings.Split(string(text), "-- name: ")[1:] {
			named := strings.Fields(query)[0]
			body := comment.ReplaceAllString(query[len(named):], "")
			for _, match := range changes.FindAllString(body, -1) {
				found = append(found, named+": "+strings.Join(strings.Fields(match), " "))
			}
			if strings.Contains(strings.ToUpper(body), "ON CONFLICT") && changes.MatchString(body) {
				found = append(found, named+": ON CONFLICT")
			}
		}
	}
	const want = "InsertAudit: INSERT INTO audit, DeleteAuditTo: DELETE FROM audit"
	// promise: G-22
	if got := strings.Join(found, ", "); got != want {
		t.Errorf("the audit is written by %q, wanted %q", got, want)
	}
}
