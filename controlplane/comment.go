package controlplane

import "time"

// CommentID names a comment.
type CommentID string

// Comment is what a person says about a deployment, to others who may see it.
type Comment struct {
	ID         CommentID
	Deployment DeploymentID
	// User is empty once the author was deleted; the name stays.
	User   UserID
	Author string
	// Body is plain text.
	Body string
	// Mentions are the names in the body that were told of it.
	Mentions []string
	At       time.Time
}
