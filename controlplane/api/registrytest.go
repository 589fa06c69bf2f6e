package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
)

func (s *server) TestRegistry(
	ctx context.Context, r TestRegistryRequestObject,
) (TestRegistryResponseObject, error) {
	b := r.Body
	tried, err := s.Catalog.TryRegistry(ctx, actorOf(ctx), catalog.RegistryTry{
		Name: r.Name, Image: or(b.Image, ""), Pattern: or(b.Pattern, ""),
		TagQuery: catalog.TagQuery{
			Search: or(b.Search, ""), Order: catalog.TagOrder(or(b.Order, RegistryTestOrderVersion)),
			Page: controlplane.Page{Limit: or(b.Limit, 50)},
		},
	})
	if err != nil {
		return nil, err
	}
	return TestRegistry200JSONResponse(registryTested(tried, b.Image != nil)), nil
}

func registryTested(tried catalog.RegistryTried, listed bool) RegistryTested {
	out := RegistryTested{Ok: tried.Refused == nil, TookMs: tried.Took.Milliseconds()}
	if tried.Refused != nil {
		out.Detail, out.Remedy = some(tried.Refused.Message), some(tried.Refused.Remedy)
		return out
	}
	if !listed {
		return out
	}
	out.Total, out.Matching = &tried.Page.Total, &tried.Page.Matching
	out.Stale = some(tried.Page.Stale)
	items := tagsOf(tried.Page)
	out.Items = &items
	return out
}
