package access

import (
	"slices"

	"github.com/nullops/nullops/controlplane"
)

// Object is what an action is done to. Fields that do not matter for the decision stay empty.
type Object struct {
	// What and Name are for error messages: "deployment", "cart".
	What, Name  string
	Project     controlplane.ProjectID
	Environment controlplane.EnvironmentID
	// Restricted is the environment's.
	Restricted bool
	// Limited are the environments that the project is limited to; none is no limit.
	// It matters before a deployment exists: one is only ever in these environments.
	Limited []controlplane.EnvironmentID
}

// Check allows the action by returning nil. A refusal is a
// *controlplane.Error: sign in first, does not exist (or may not be seen), or
// may be seen and not done.
func Check(a Actor, action Action, o Object) error {
	if action == Public {
		return nil
	}
	if !a.SignedIn() {
		return &controlplane.Error{
			Kind: controlplane.Unauthenticated, Code: "unauthenticated",
			Message: "nobody is signed in",
			Remedy:  "Sign in, or send a valid API token.",
		}
	}
	if a.lacksFactor && action != Self {
		return FactorError()
	}
	if a.readOnly && (action == WriteDeployment || action == AnswerDeployment ||
		action == CommentDeployment || action == RevealSecret || action == GiveVerdict) {
		return a.ReadOnlyError()
	}
	if a.IsAdmin() {
		return checkKnown(action)
	}
	switch action {
	case Self:
		return nil
	case Admin:
		return forbiddenError("only an admin may do this", "Ask an admin to do it.")
	case ReadProject:
		if !a.readsProject(o) {
			return unseenError(o)
		}
		return nil
	case ReadDeployment, WriteDeployment, AnswerDeployment, CommentDeployment, RevealSecret,
		GiveVerdict:
		return checkDeployment(a, action, o)
	default:
		return checkKnown(action)
	}
}

// ReadOnlyError is the error for a read-only actor.
func (a Actor) ReadOnlyError() error {
	if a.viewer == "" {
		return ReadOnlyToken()
	}
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "view_only",
		Message: "you look through the eyes of " + a.user.Name + ", which changes nothing",
		Remedy:  "Stop viewing as " + a.user.Name + " first.",
	}
}

// ReadOnlyToken is the error for changing something with a read-only token.
func ReadOnlyToken() error {
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "token_read_only",
		Message: "this token only reads", Remedy: "Use a token with the scope full.",
	}
}

func checkDeployment(a Actor, action Action, o Object) error {
	switch level := Level(a, o); {
	case level == controlplane.LevelNone:
		return unseenError(o)
	case (action == WriteDeployment || action == RevealSecret) && level != controlplane.LevelFull:
		return forbiddenError("you have read access here, and this needs full access",
			"Ask an admin for a team with full access to the project or the environment.")
	case action == GiveVerdict && !a.givesVerdicts(o):
		return forbiddenError("you may not say QA's verdict here",
			"Ask an admin for a team that may say verdicts, with access to the project or the "+
				"environment.")
	default:
		return nil
	}
}

// givesVerdicts reports whether a team that may say verdicts has a grant on the object.
func (a Actor) givesVerdicts(o Object) bool {
	return slices.ContainsFunc(a.grants, func(g controlplane.Grant) bool {
		return g.Verdicts && (g.Project != "" && g.Project == o.Project ||
			g.Environment != "" && g.Environment == o.Environment && o.mayBeIn(g.Environment))
	})
}

// checkKnown refuses an undeclared action, to admins too: a typo in the contract must
// not grant access.
func checkKnown(action Action) error {
	if slices.Contains(Actions(), action) {
		return nil
	}
	return forbiddenError("nobody may do "+string(action), "This is a fault of ours: report it.")
}

func unseenError(o Object) error {
	what, name := o.What, o.Name
	if what == "" {
		what = "this"
	}
	return controlplane.NewNotFoundError(what, name)
}

func forbiddenError(message, remedy string) error {
	return &controlplane.Error{
		Kind: controlplane.Forbidden, Code: "forbidden", Message: message, Remedy: remedy,
	}
}

// Level is how far the actor reaches on a deployment of the project in the
// environment: the highest of all grants on either. A restricted environment
// needs a grant of its own besides.
func Level(a Actor, o Object) controlplane.Level {
	if level := levelOf(a, o); !a.readOnly || level == controlplane.LevelNone {
		return level
	}
	return controlplane.LevelRead
}

func levelOf(a Actor, o Object) controlplane.Level {
	if a.IsAdmin() {
		return controlplane.LevelFull
	}
	project, environment := controlplane.LevelNone, controlplane.LevelNone
	for _, g := range a.grants {
		if g.Project != "" && g.Project == o.Project {
			project = project.Max(g.Level)
		}
		if g.Environment != "" && g.Environment == o.Environment {
			environment = environment.Max(g.Level)
		}
	}
	if o.Restricted && environment == controlplane.LevelNone {
		return controlplane.LevelNone
	}
	if !o.mayBeIn(o.Environment) {
		return project
	}
	return project.Max(environment)
}

func (a Actor) readsProject(o Object) bool {
	return slices.ContainsFunc(a.grants, func(g controlplane.Grant) bool {
		return g.Project != "" && g.Project == o.Project ||
			g.Environment != "" && g.Level == controlplane.LevelFull && o.mayBeIn(g.Environment)
	})
}

// mayBeIn reports whether the project may be deployed into the environment.
func (o Object) mayBeIn(id controlplane.EnvironmentID) bool {
	return len(o.Limited) == 0 || slices.Contains(o.Limited, id)
}

// CanSeeEnvironment reports whether the environment may be shown: with a grant
// on it, or, unless it is restricted, with a grant on any project.
func CanSeeEnvironment(a Actor, id controlplane.EnvironmentID, restricted bool) bool {
	return a.IsAdmin() || slices.ContainsFunc(a.grants, func(g controlplane.Grant) bool {
		return g.Environment != "" && g.Environment == id || g.Project != "" && !restricted
	})
}

// CanCreateIn reports whether some project can be deployed into the
// environment by the actor.
func CanCreateIn(a Actor, id controlplane.EnvironmentID, restricted bool) bool {
	if a.IsAdmin() || a.readOnly {
		return !a.readOnly
	}
	own, full := !restricted, false
	for _, g := range a.grants {
		here := g.Environment != "" && g.Environment == id
		own = own || here
		full = full || g.Level == controlplane.LevelFull && (here || g.Project != "")
	}
	return own && full
}

// CanCreateOf reports whether the project can be deployed somewhere by the
// actor.
func CanCreateOf(a Actor, o Object) bool {
	return !a.readOnly &&
		(a.IsAdmin() || slices.ContainsFunc(a.grants, func(g controlplane.Grant) bool {
			full := g.Level == controlplane.LevelFull
			return full && (g.Environment != "" && o.mayBeIn(g.Environment) ||
				g.Project != "" && g.Project == o.Project)
		}))
}

// CanCreate reports whether the actor can deploy anything anywhere.
func CanCreate(a Actor) bool {
	return !a.readOnly && (a.IsAdmin() || slices.ContainsFunc(a.grants,
		func(g controlplane.Grant) bool { return g.Level == controlplane.LevelFull }))
}

// CanSeeCatalog reports whether services, plugins and registries may be shown: to
// everyone with a grant.
func CanSeeCatalog(a Actor) bool { return a.IsAdmin() || len(a.grants) > 0 }

// Scope limits a list query to what the actor may read. A deployment is in it
// when All is set, or its project is in Projects or its environment in
// Environments and, if the environment is restricted, it is in Environments.
type Scope struct {
	All          bool
	Projects     []controlplane.ProjectID
	Environments []controlplane.EnvironmentID
	// Deployable are environments with Full access: they show every project that may
	// be deployed there.
	Deployable []controlplane.EnvironmentID
}

// ReadableScope returns the actor's scope. Its lists are never nil.
func ReadableScope(a Actor) Scope {
	s := Scope{
		All:          a.IsAdmin(),
		Projects:     []controlplane.ProjectID{},
		Environments: []controlplane.EnvironmentID{},
		Deployable:   []controlplane.EnvironmentID{},
	}
	for _, g := range a.grants {
		if g.Project != "" {
			s.Projects = append(s.Projects, g.Project)
			continue
		}
		s.Environments = append(s.Environments, g.Environment)
		if g.Level == controlplane.LevelFull {
			s.Deployable = append(s.Deployable, g.Environment)
		}
	}
	return s
}

// WriteScope limits a list query to what the actor may change in one environment: everything, or
// what is of some projects.
type WriteScope struct {
	All      bool
	Projects []controlplane.ProjectID
}

// WritableScope returns what the actor may change in an environment. Its list is never nil.
func WritableScope(a Actor, id controlplane.EnvironmentID, restricted bool) WriteScope {
	s := WriteScope{Projects: []controlplane.ProjectID{}}
	if !a.SignedIn() || a.readOnly || a.lacksFactor {
		return s
	}
	here := Level(a, Object{Environment: id, Restricted: restricted})
	s.All = here == controlplane.LevelFull
	if restricted && here == controlplane.LevelNone {
		return s
	}
	for _, g := range a.grants {
		if g.Project != "" && g.Level == controlplane.LevelFull {
			s.Projects = append(s.Projects, g.Project)
		}
	}
	return s
}
