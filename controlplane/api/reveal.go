package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) ListDeploymentSecrets(
	ctx context.Context, r ListDeploymentSecretsRequestObject,
) (ListDeploymentSecretsResponseObject, error) {
	names, err := s.Catalog.ListGenerated(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id))
	if err != nil {
		return nil, err
	}
	return ListDeploymentSecrets200JSONResponse{
		Items: convertAll(
			names,
			func(name string) DeploymentSecret { return DeploymentSecret{Name: name} },
		),
	}, nil
}

// RevealSecret answers with the value. The router sets no-store on every answer.
func (s *server) RevealSecret(
	ctx context.Context, r RevealSecretRequestObject,
) (RevealSecretResponseObject, error) {
	value, err := s.Catalog.RevealSecret(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id), r.Secret)
	if err != nil {
		return nil, err
	}
	return RevealSecret200JSONResponse{Name: r.Secret, Value: value.Reveal()}, nil
}
