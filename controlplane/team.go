package controlplane

import "fmt"

// Level is how far a grant reaches.
type Level string

// The levels; the empty one is no access.
const (
	LevelNone Level = ""
	LevelRead Level = "read"
	LevelFull Level = "full"
)

// Covers reports whether having l includes what wants allows.
func (l Level) Covers(wants Level) bool { return l.rank() >= wants.rank() }

// Max returns the higher of two levels.
func (l Level) Max(other Level) Level {
	if other.rank() > l.rank() {
		return other
	}
	return l
}

func (l Level) rank() int {
	switch l {
	case LevelFull:
		return 2
	case LevelRead:
		return 1
	default:
		return 0
	}
}

// Team is people who share grants.
type Team struct {
	ID          TeamID
	Name        string
	Description string
	// Members are user names, in order.
	Members []string
	Grants  []TeamGrant
	// SecondFactor requires one of every member who signs in with a password.
	SecondFactor bool
	// Verdicts lets the members say QA's verdict on what the team may see.
	Verdicts bool
}

// TeamGrant is a grant as people write it. Exactly one of Project and
// Environment is set.
type TeamGrant struct {
	Project     string
	Environment string
	Level       Level
}

// String says the grant as people do.
func (g TeamGrant) String() string {
	if g.Project != "" {
		return fmt.Sprintf("%s on project %s", g.Level, g.Project)
	}
	return fmt.Sprintf("%s on environment %s", g.Level, g.Environment)
}

// Grant is one grant as a decision needs it. Exactly one of Project and
// Environment is set.
type Grant struct {
	Project     ProjectID
	Environment EnvironmentID
	Level       Level
	// Verdicts is the team's: who has it may say QA's verdict.
	Verdicts bool
}

// GrantOfTeam is a grant with the names that explain it to people.
type GrantOfTeam struct {
	Grant
	Team            string
	ProjectName     string
	EnvironmentName string
}
