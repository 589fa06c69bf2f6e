package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/testpart"
)

const otherPrint = "abababababababababababababababababababababababababababababababab"

// answersWith has a node show another certificate, with the token's proof or without.
func (s *stage) answersWith(proof bool) {
	s.t.Helper()
	s.expectSaved(nil, s.store.InTx(s.t.Context(), func(tx *postgres.Tx) error {
		return tx.NodeTrust().SetPending(s.t.Context(), s.world.node, otherPrint, proof)
	}))
	s.nodeIs(controlplane.NodeUntrusted)
}

func (s *stage) onNode(method, path string, body any) {
	s.t.Helper()
	if a := s.call(method, "/api/v1/nodes/"+s.node+path, s.root, body); a.status > 299 {
		s.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
}

// nodeStandings are all the ways in which a node can stand.
var nodeStandings = map[string]func(*stage){
	"never met": func(s *stage) {
		s.node = s.fresh("node")
		s.nodes = append(s.nodes, s.node)
		s.onNode("PUT", "", s.settings(s.node))
	},
	"online":         func(*stage) {},
	"offline":        func(s *stage) { s.nodeIs(controlplane.NodeOffline) },
	"incompatible":   func(s *stage) { s.nodeIs(controlplane.NodeIncompatible) },
	"another, known": func(s *stage) { s.answersWith(true) },
	"a stranger":     func(s *stage) { s.answersWith(false) },
	"disabled":       func(s *stage) { s.onNode("POST", "/disable", nil) },
	"a stranger, and disabled": func(s *stage) {
		s.answersWith(false)
		s.onNode("POST", "/disable", nil)
	},
	"drained":         func(s *stage) { s.onNode("POST", "/drain", object{}) },
	"without a token": func(s *stage) { s.onNode("DELETE", "/token", nil) },
	"in use":          func(s *stage) { s.beginDeployment(nil) },
	"drained, in use": func(s *stage) {
		s.beginDeployment(nil)
		s.onNode("POST", "/drain", object{})
	},
}

func (s *stage) settings(name string) object {
	return object{"environment": "qa", "address": name + ".example:5000"}
}

// nodeActs are what people can do to a node.
func nodeActs(s *stage) []struct {
	method, path string
	body         any
} {
	return []struct {
		method, path string
		body         any
	}{
		{"GET", "", nil}, {"GET", "/drain", nil}, {"GET", "/unknown", nil},
		{"PUT", "", s.settings(s.node)}, {"POST", "/drain", object{}}, {"DELETE", "/drain", nil},
		{"POST", "/disable", nil}, {"POST", "/enable", nil},
		{"POST", "/approve", object{"thumbprint": otherPrint}},
		{"POST", "/reject", object{"thumbprint": otherPrint}},
		{"DELETE", "/token", nil}, {"POST", "/token", nil}, {"POST", "/recover", nil},
		{"DELETE", "/ssh", nil}, {"POST", "/provisions", object{}},
		{"POST", "/unknown/" + nobody + "/adopt", nil}, {"POST", "/unknown/" + nobody + "/purge", nil},
		{"POST", "/unknown/" + nobody + "/recreate", nil},
		{"DELETE", "", nil}, {"POST", "/forget", nil},
	}
}

const nobody = "01a20000-0000-7000-8000-000000000000"

// However a node stands, everything that an admin can do to it is done, or refused
// with what to do instead. And whatever was done, it can be made one that takes
// part again.
func TestStates_EveryActOnANodeHasAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	s := &stage{world: w, root: w.token("root"), nodes: []string{"node-1"}}
	for _, name := range testpart.Pick(t, slices.Sorted(maps.Keys(nodeStandings))) {
		for i, untouched := 0, false; i < len(nodeActs(s)); i++ {
			if !untouched {
				s.another()
				nodeStandings[name](s)
			}
			act := nodeActs(s)[i]
			a := s.call(act.method, "/api/v1/nodes/"+s.node+act.path, s.root, act.body)
			if why := describeFault(a); why != "" {
				s.t.Errorf("%s: %s %s: %s: %d %s", name, act.method, act.path, why, a.status, a.body)
			}
			if untouched = act.method == "GET" || a.status > 299; !untouched {
				s.comesBack(name + ", " + act.method + " " + act.path)
			}
		}
	}
}

// comesBack makes the node one that takes part, if it is still there.
func (s *stage) comesBack(what string) {
	s.t.Helper()
	path := "/api/v1/nodes/" + s.node
	if s.call("GET", path, s.root, nil).status == http.StatusNotFound {
		return
	}
	for _, act := range []string{"POST /enable", "DELETE /drain", "POST /token"} {
		method, sub, _ := strings.Cut(act, " ")
		if a := s.call(method, path+sub, s.root, nil); a.status > 299 {
			s.t.Errorf("%s, then %s: %d %s", what, act, a.status, a.body)
		}
	}
	var n api.Node
	s.got(path, s.root, &n)
	if n.Drain != nil || n.Status == api.NodeStatusUntrusted || n.Status == api.NodeStatusDisabled {
		s.t.Errorf("%s: at last it is %s, drain %+v", what, n.Status, n.Drain)
	}
}
