package controlplane

// Topic is what a change is about. The list is closed; a subscriber names the topics
// that should wake it. A notification carries no state: the subscriber reads the
// database again.
type Topic string

// The topics.
const (
	// TopicDeployment: a deployment, a run or a step changed. Key: deployment.
	TopicDeployment Topic = "deployment"
	// TopicLog: log lines were added. Key: deployment.
	TopicLog Topic = "log"
	// TopicProgress: a running step gave a sign of life. Key: deployment.
	TopicProgress Topic = "progress"
	// TopicNode: a node, its token or its trust changed. Key: node.
	TopicNode Topic = "node"
	// TopicOffer: a node is to be asked whether it takes a deployment. Key: node.
	TopicOffer Topic = "offer"
	// TopicWatch: somebody needs a node's figures as they are now. Key: node,
	// or none for the nodes that runs wait for.
	TopicWatch Topic = "watch"
	// TopicCatalog: what admins define changed. No key.
	TopicCatalog Topic = "catalog"
	// TopicAccess: users, teams or grants changed; streams check access again.
	TopicAccess Topic = "access"
)
