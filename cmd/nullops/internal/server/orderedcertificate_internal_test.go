package server

import (
	"crypto/tls"
	"testing"
)

// Only who asks for the UI's own name gets the ordered certificate: the command line that signed in
// by another name has pinned the one of our own making.
func TestOrderedCertificate_IsForTheHostOnly(t *testing.T) {
	o := &orderedCertificate{host: "qa.example.org"}
	if o.forHost("qa.example.org") != nil {
		t.Error("there is one before it was ordered")
	}
	ordered := &tls.Certificate{}
	o.parsed.Store(ordered)
	for name, want := range map[string]*tls.Certificate{"qa.example.org": ordered,
		"QA.example.org": ordered, "localhost": nil, "": nil} {
		if o.forHost(name) != want {
			t.Errorf("%q: %v", name, o.forHost(name))
		}
	}
}
