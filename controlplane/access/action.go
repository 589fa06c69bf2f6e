package access

// Action is what an actor wants to do, spelled as x-access in the API's contract. The
// list is closed; any other action is refused to everyone.
type Action string

// The actions.
const (
	// Public needs no sign-in.
	Public Action = "public"
	// Self is for everyone who is signed in, about themselves or harmless facts.
	Self Action = "self"
	// Admin is for admins.
	Admin Action = "admin"
	// ReadProject sees a project and its pipeline versions.
	ReadProject Action = "project.read"
	// ReadDeployment sees a deployment, its runs and logs.
	ReadDeployment Action = "deployment.read"
	// WriteDeployment creates, retries and removes deployments.
	WriteDeployment Action = "deployment.write"
	// AnswerDeployment answers an approval. CheckAnswer decides who may; every answerer must be
	// allowed to see the deployment.
	AnswerDeployment Action = "deployment.answer"
	// CommentDeployment says something about a deployment: everybody who may see it may, unless they
	// came to look only.
	CommentDeployment Action = "deployment.comment"
	// RevealSecret sees a value that was generated for a deployment. It takes Full,
	// which lets people read the services' variables anyway.
	RevealSecret Action = "deployment.reveal"
	// GiveVerdict says QA's verdict on a deployment. No level includes it: it takes a team with that
	// right and a grant on the project or the environment.
	GiveVerdict Action = "deployment.verdict"
)

// Actions lists all actions, for a test that checks that the contract uses no other.
func Actions() []Action {
	return []Action{Public, Self, Admin, ReadProject, ReadDeployment, WriteDeployment,
		AnswerDeployment, CommentDeployment, RevealSecret, GiveVerdict}
}
