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
	// Revision is never given twice; 0 stands for no draft.
	Revision int64
	Content  json.RawMessage
	SavedAt  time.Time
}
