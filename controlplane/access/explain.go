package access

import "github.com/nullops/nullops/controlplane"

// Explanation says why a person has a level, and what is missing for more.
type Explanation struct {
	Level controlplane.Level
	// Because lists what grants the level, a sentence each.
	Because []string
	// Missing is empty with full access.
	Missing string
}

// Explain returns the reasons for what Level decides. The names are of the object's project and
// environment; an empty name does not matter.
func Explain(
	a Actor, o Object, project, environment string, grants []controlplane.GrantOfTeam,
) Explanation {
	if a.viewer != "" {
		// What is explained is what that person may, not what can be done through their eyes.
		a.readOnly = false
	}
	x := Explanation{Level: Level(a, o)}
	if a.IsAdmin() {
		x.Because = []string{a.Name() + " is an admin"}
		if a.readOnly {
			x.Missing = "this token only reads: use one with the scope full"
		}
		return x
	}
	own, opens := false, false
	for _, g := range grants {
		onProject := g.Project != "" && g.Project == o.Project
		here := g.Environment != "" && g.Environment == o.Environment
		own = own || here
		if onProject || here {
			x.Because = append(x.Because, grantSentence(g))
			opens = opens || here && g.Level == controlplane.LevelFull
		}
	}
	if opens {
		x.Because = append(x.Because, "full access to an environment reaches the secrets of every "+
			"project that may be deployed there, through its deployments")
	}
	if o.Environment == "" && x.Level == controlplane.LevelNone && a.readsProject(o) {
		x.Level = controlplane.LevelRead
		x.Because = []string{"full access to an environment shows every project that may be " +
			"deployed there"}
	}
	x.Missing = missingReason(a, o, x.Level, own, placeName(project, environment))
	return x
}

func grantSentence(g controlplane.GrantOfTeam) string {
	return "team " + g.Team + " has " + string(g.Level) + " access to " +
		placeName(g.ProjectName, g.EnvironmentName)
}

func missingReason(a Actor, o Object, level controlplane.Level, own bool, where string) string {
	switch {
	case level == controlplane.LevelFull:
		return ""
	case a.readOnly && level == controlplane.LevelRead:
		return "this token only reads: use one with the scope full"
	case o.Restricted && !own:
		return "the environment is restricted: it takes a team with a grant on the environment itself"
	case level == controlplane.LevelRead:
		return "full access takes a team with full access to " + where
	default:
		return "no team of yours has access to " + where
	}
}

func placeName(project, environment string) string {
	switch {
	case project != "" && environment != "":
		return "project " + project + " or environment " + environment
	case project != "":
		return "project " + project
	case environment != "":
		return "environment " + environment
	default:
		return "it, if it exists at all"
	}
}
