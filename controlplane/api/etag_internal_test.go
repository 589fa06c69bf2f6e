package api

import "testing"

// The progress of certificate orders changes every few seconds, but no person changed it: an ETag
// covers only what people write.
func TestTag_OfWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	opened := computeETag([]byte(`{"challenge":"dns-01","certificates":[]}`))
	ordered := computeETag([]byte(`{"certificates":[{"state":"valid"}],"challenge":"dns-01"}`))
	changed := computeETag([]byte(`{"challenge":"http-01","certificates":[]}`))
	if opened != ordered || opened == changed {
		t.Errorf("opened %s, ordered %s, changed %s", opened, ordered, changed)
	}
}

// A rule's schedule runs and its code host refuses it while somebody has its form open.
func TestTag_NotOfWhatARuleDoes(t *testing.T) {
	t.Parallel()
	opened := computeETag([]byte(
		`{"rule":{"tag":"a","next_run_at":"2026-11-28T02:30:00Z"},"reviews":[]}`))
	ran := computeETag([]byte(
		`{"rule":{"tag":"a","next_run_at":"2026-11-29T02:30:00Z","refusal":"401"},"reviews":[{}]}`))
	edited := computeETag([]byte(`{"rule":{"tag":"b"},"reviews":[]}`))
	if opened != ran || opened == edited {
		t.Errorf("opened %s, ran %s, edited %s", opened, ran, edited)
	}
}

// A node measures itself every few seconds, and its form is open for longer.
func TestTag_NotOfWhatANodeMeasures(t *testing.T) {
	t.Parallel()
	opened := computeETag([]byte(`{"address":"a:1","vitals":{"cpu":1},"allocated":{}}`))
	measured := computeETag([]byte(
		`{"address":"a:1","vitals":{"cpu":2},"allocated":{"cpu":1},"inventory":{}}`))
	edited := computeETag([]byte(`{"address":"a:2","vitals":{"cpu":1},"allocated":{}}`))
	if opened != measured || opened == edited {
		t.Errorf("opened %s, measured %s, edited %s", opened, measured, edited)
	}
}
