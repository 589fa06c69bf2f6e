package controlplane

import (
	"encoding/json"
	"time"
)

// Draft is what one person draws before they publish it. Its content is the
// editor's and may be no valid pipeline at all.
type Draft struct {
	Project ProjectID
	User    UserID
	// Base is the version it was drawn on, 0 for a project without one.
	Base int
	// Revision is never reused; 0 means no draft.
	Revision int64
	Content  json.RawMessage
	SavedAt  time.Time
}
