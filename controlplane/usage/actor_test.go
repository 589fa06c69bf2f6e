package usage_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/usage"
)

// Whatever takes a context is a use case, and takes the actor right after it. Run and Flush only
// write what others were let in with.
func TestUseCases_TakeAnActor(t *testing.T) {
	door := reflect.TypeFor[*usage.Usage]()
	asks, actor := reflect.TypeFor[context.Context](), reflect.TypeFor[access.Actor]()
	writers := map[string]bool{"Run": true, "Flush": true}
	useCases := 0
	for m := range door.Methods() {
		if m.Type.NumIn() < 2 || m.Type.In(1) != asks || writers[m.Name] {
			continue
		}
		useCases++
		if m.Type.NumIn() < 3 || m.Type.In(2) != actor {
			t.Errorf("%s takes no access.Actor after the context", m.Name)
		}
	}
	if useCases < 5 {
		t.Errorf("only %d use cases found", useCases)
	}
}
