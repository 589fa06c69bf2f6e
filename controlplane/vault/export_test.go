package vault

import "time"

// SetClock moves a client in time.
func SetClock(c *Client, now func() time.Time) { c.now = now }
