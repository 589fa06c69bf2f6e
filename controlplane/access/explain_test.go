package access_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
)

// An admin who views as a person sees what that person may do, but cannot do it.
func TestExplain_ThroughAnothersEyes(t *testing.T) {
	grant := onProject(shop, controlplane.LevelFull)
	named := []controlplane.GrantOfTeam{{Team: "storefront", Grant: grant, ProjectName: "shop"}}
	o := access.Object{Project: shop}
	viewed := userWith(grant).ViewedBy(adminActor())
	if x := access.Explain(viewed, o, "shop", "", named); x.Level != controlplane.LevelFull ||
		x.Missing != "" || len(x.Because) != 1 {
		t.Errorf("viewed: %+v", x)
	}
	if access.Level(viewed, o) != controlplane.LevelRead {
		t.Error("more than reading through another's eyes")
	}
	if x := access.Explain(userWith(grant).AsReadOnly(), o, "shop", "", named); x.Missing == "" {
		t.Errorf("a token that only reads: %+v", x)
	}
}
