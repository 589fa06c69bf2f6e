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
	tried, err := s.Catalog.TestRegistry(ctx, actorOf(ctx), catalog.RegistryTry{
		Name: r.Name, Image: valueOr(b.Image, ""), Pattern: valueOr(b.Pattern, ""),
		TagQuery: catalog.TagQuery{
			Search: valueOr(
				b.Search,
				"",
			), Order: catalog.TagOrder(valueOr(b.Order, RegistryTestOrderVersion)),
			Page: controlplane.Page{Limit: valueOr(b.Limit, 50)},
		},
	})
	if err != nil {
		return nil, err
	}
	return TestRegistry200JSONResponse(registryTested(tried, b.Image != nil)), nil
}

func registryTested(tried catalog.RegistryTestResult, listed bool) RegistryTested {
	out := RegistryTested{Ok: tried.Refused == nil, TookMs: tried.Took.Milliseconds()}
	if tried.Refused != nil {
		out.Detail, out.Remedy = ptrOrNil(tried.Refused.Message), ptrOrNil(tried.Refused.Remedy)
		return out
	}
	if !listed {
		return out
	}
	out.Total, out.Matching = &tried.Page.Total, &tried.Page.Matching
	out.Stale = ptrOrNil(tried.Page.Stale)
	items := tagsOf(tried.Page)
	out.Items = &items
	return out
}
