package accounts_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

// hashMemory is what one hash of these tests allocates: enough to tell one hash
// from none and from two, whatever else a sign-in allocates.
const hashMemory = 32 << 20

// Every failed sign-in costs the one hash that a right one costs too: neither the time nor the
// message says why it failed. A hash is detected by the memory that only it takes, so that the
// speed of the machine does not count. Not parallel: the count is the whole process's.
func TestSignIn_CostsOneHashWhateverIsWrong(t *testing.T) {
	w := newWorld(t)
	a, err := accounts.New(accounts.Config{Store: w.store, Log: slog.New(slog.DiscardHandler),
		Now: w.now, MemoryKiB: hashMemory >> 10, Iterations: 1, Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada", "left"} {
		_, err := a.PutUser(t.Context(), w.admin, accounts.UserPut{Name: name, Active: true,
			Role: controlplane.RoleUser, Password: controlplane.NewPlain(password)})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, put := range map[string]accounts.UserPut{
		"left":  {Role: controlplane.RoleUser},
		"robot": {Role: controlplane.RoleUser, Kind: controlplane.KindService, Active: true},
	} {
		put.Name = name
		if _, err := a.PutUser(t.Context(), w.admin, put); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ why, name, password string }{
		{"right", "ada", password},
		{"wrong password", "ada", "not the password"},
		{"unknown name", "nobody-here", "not the password"},
		{"deactivated, wrong password", "left", "not the password"},
		{"deactivated, right password", "left", password},
		{"service user without a password", "robot", "not the password"},
	} {
		before := readAllocated()
		_, err := a.SignIn(t.Context(), actorFrom("10.0.0.9"), accounts.Login{User: c.name,
			Password: controlplane.NewPlain(c.password)})
		cost := float64(readAllocated()-before) / hashMemory
		if cost < 1 || cost >= 2 {
			t.Errorf("%s: it took the memory of %.2f hashes, want one", c.why, cost)
		}
		if refused := controlplane.CodeOf(err) == "sign_in_refused"; refused == (c.why == "right") {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

// readAllocated returns what the process allocated in all, in bytes; it only grows.
func readAllocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A token is found by its public part, and what is secret of it is compared by
// its digest and in constant time. What makes a digest compares nothing otherwise.
//
// threat: T49
func TestTokens_AreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	calls := map[string]map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				calls[f.Name.Name] = calledFunctions(f)
			}
		}
	}
	// promise: B-32
	if !calls["findBearer"]["findToken"] || !calls["findToken"]["sameHash"] ||
		!calls["findToken"]["APITokens().ByPrefix"] || !calls["sameHash"]["subtle.ConstantTimeCompare"] {
		t.Errorf("a bearer token is checked by %v, that by %v, and that by %v", calls["findBearer"],
			calls["findToken"], calls["sameHash"])
	}
	for name, all := range calls {
		for _, quick := range []string{"bytes.Equal", "bytes.Compare", "slices.Equal",
			"reflect.DeepEqual"} {
			// promise: B-32
			if all["sha256.Sum256"] && all[quick] {
				t.Errorf("%s compares by %s, which ends at the first difference", name, quick)
			}
		}
	}
}

// calledFunctions names the functions that a function calls, as they are written.
func calledFunctions(f *ast.FuncDecl) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			all[fun.Name] = true
		case *ast.SelectorExpr:
			switch on := fun.X.(type) {
			case *ast.Ident:
				all[on.Name+"."+fun.Sel.Name] = true
			case *ast.CallExpr: // a subject's handle, such as tx.APITokens()
				if handle, ok := on.Fun.(*ast.SelectorExpr); ok {
					all[handle.Sel.Name+"()."+fun.Sel.Name] = true
				}
			}
		}
		return true
	})
	return all
}
