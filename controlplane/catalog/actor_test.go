package catalog_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/nodes"
)

// Whatever takes a context is a use case, and takes the actor right after it.
func TestUseCases_TakeAnActor(t *testing.T) {
	asks, actor := reflect.TypeFor[context.Context](), reflect.TypeFor[access.Actor]()
	for _, door := range []reflect.Type{reflect.TypeFor[*catalog.Catalog](),
		reflect.TypeFor[*nodes.Nodes](), reflect.TypeFor[*certificates.Certificates]()} {
		useCases := 0
		for m := range door.Methods() {
			if m.Type.NumIn() < 2 || m.Type.In(1) != asks {
				continue
			}
			useCases++
			if m.Type.NumIn() < 3 || m.Type.In(2) != actor {
				t.Errorf("%s of %s takes no access.Actor behind the context", m.Name, door)
			}
		}
		if useCases < 10 {
			t.Errorf("only %d use cases found in %s", useCases, door)
		}
	}
}
