package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/skip2/go-qrcode"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

// qrSize is the width of a QR code in pixels: sharp at half of it on a phone's display.
const qrSize = 400

func toPasskeyQuestion(q accounts.PasskeyQuestion, err error) (out PasskeyQuestion, _ error) {
	out.Ticket = q.Ticket
	if err == nil {
		err = json.Unmarshal(q.Options, &out.Options)
	}
	return out, err
}

// toAnswer spells an answer as the authenticator's browser did.
func toAnswer(ticket string, credential map[string]any) (accounts.PasskeyAnswer, error) {
	encoded, err := json.Marshal(credential)
	return accounts.PasskeyAnswer{Ticket: ticket, Credential: encoded}, err
}

func (s *server) BeginPasskeySignIn(
	ctx context.Context, _ BeginPasskeySignInRequestObject,
) (BeginPasskeySignInResponseObject, error) {
	q, err := toPasskeyQuestion(s.Accounts.BeginPasskeyUse(ctx, actorOf(ctx)))
	if err != nil {
		return nil, err
	}
	return BeginPasskeySignIn200JSONResponse(q), nil
}

func (s *server) CreatePasskeySession(
	ctx context.Context, r CreatePasskeySessionRequestObject,
) (CreatePasskeySessionResponseObject, error) {
	answer, err := toAnswer(r.Body.Ticket, r.Body.Credential)
	if err != nil {
		return nil, err
	}
	in, err := s.Accounts.SignInWithPasskey(ctx, actorOf(ctx), answer)
	if err != nil {
		return nil, err
	}
	cookie := s.sessionCookie(in.Cookie.Reveal(), in.Expires)
	return CreatePasskeySession201JSONResponse{
		Body: toMe(in.Actor), Headers: CreatePasskeySession201ResponseHeaders{SetCookie: &cookie},
	}, nil
}

func (s *server) ListFactors(
	ctx context.Context, _ ListFactorsRequestObject,
) (ListFactorsResponseObject, error) {
	all, err := s.Accounts.ListFactors(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ListFactors200JSONResponse{Items: convertAll(all.Factors, toFactor),
		RecoveryCodes: all.RecoveryCodes, Required: all.Required}, nil
}

func toFactor(f controlplane.Factor) Factor {
	return Factor{Id: string(f.ID), Kind: FactorKind(f.Kind), Name: f.Name, CreatedAt: f.CreatedAt,
		LastUsedAt: f.LastUsedAt}
}

func (s *server) DeleteFactor(
	ctx context.Context, r DeleteFactorRequestObject,
) (DeleteFactorResponseObject, error) {
	err := s.Accounts.DeleteFactor(ctx, actorOf(ctx), controlplane.FactorID(r.Id))
	if err != nil {
		return nil, err
	}
	return DeleteFactor204Response{}, nil
}

func (s *server) BeginPasskey(
	ctx context.Context, _ BeginPasskeyRequestObject,
) (BeginPasskeyResponseObject, error) {
	q, err := toPasskeyQuestion(s.Accounts.BeginPasskey(ctx, actorOf(ctx)))
	if err != nil {
		return nil, err
	}
	return BeginPasskey200JSONResponse(q), nil
}

func (s *server) AddPasskey(
	ctx context.Context, r AddPasskeyRequestObject,
) (AddPasskeyResponseObject, error) {
	answer, err := toAnswer(r.Body.Ticket, r.Body.Credential)
	if err != nil {
		return nil, err
	}
	f, codes, err := s.Accounts.AddPasskey(ctx, actorOf(ctx), r.Body.Name, answer)
	if err != nil {
		return nil, err
	}
	return AddPasskey201JSONResponse(toFactorAdded(f, codes)), nil
}

func toFactorAdded(f controlplane.Factor, codes []controlplane.Plain) FactorAdded {
	return FactorAdded{Factor: toFactor(f),
		RecoveryCodes: convertAll(codes, controlplane.Plain.Reveal)}
}

func (s *server) BeginAuthenticator(
	ctx context.Context, r BeginAuthenticatorRequestObject,
) (BeginAuthenticatorResponseObject, error) {
	id, seed, uri, err := s.Accounts.BeginTOTP(ctx, actorOf(ctx), r.Body.Name)
	if err != nil {
		return nil, err
	}
	image, err := qrcode.Encode(uri.Reveal(), qrcode.Medium, qrSize)
	if err != nil {
		return nil, fmt.Errorf("draw a QR code: %w", err)
	}
	return BeginAuthenticator200JSONResponse{Id: string(id), Secret: seed.Reveal(),
		Uri: uri.Reveal(),
		Qr:  "data:image/png;base64," + base64.StdEncoding.EncodeToString(image)}, nil
}

func (s *server) ConfirmAuthenticator(
	ctx context.Context, r ConfirmAuthenticatorRequestObject,
) (ConfirmAuthenticatorResponseObject, error) {
	f, codes, err := s.Accounts.ConfirmTOTP(ctx, actorOf(ctx), controlplane.FactorID(r.Id),
		controlplane.NewPlain(r.Body.Code))
	if err != nil {
		return nil, err
	}
	return ConfirmAuthenticator201JSONResponse(toFactorAdded(f, codes)), nil
}

func (s *server) ReplaceRecoveryCodes(
	ctx context.Context, _ ReplaceRecoveryCodesRequestObject,
) (ReplaceRecoveryCodesResponseObject, error) {
	codes, err := s.Accounts.CreateRecoveryCodes(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ReplaceRecoveryCodes200JSONResponse{
		RecoveryCodes: convertAll(codes, controlplane.Plain.Reveal)}, nil
}

func (s *server) BeginStepUp(
	ctx context.Context, _ BeginStepUpRequestObject,
) (BeginStepUpResponseObject, error) {
	q, err := toPasskeyQuestion(s.Accounts.BeginPasskeyUse(ctx, actorOf(ctx)))
	if err != nil {
		return nil, err
	}
	return BeginStepUp200JSONResponse(q), nil
}

func (s *server) StepUp(
	ctx context.Context, r StepUpRequestObject,
) (StepUpResponseObject, error) {
	proof := accounts.Proof{Password: controlplane.NewPlain(valueOr(r.Body.Password, "")),
		Code: controlplane.NewPlain(valueOr(r.Body.Code, ""))}
	if p := r.Body.Passkey; p != nil {
		var err error
		if proof.Passkey, err = toAnswer(p.Ticket, p.Credential); err != nil {
			return nil, err
		}
	}
	if err := s.Accounts.StepUp(ctx, actorOf(ctx), proof); err != nil {
		return nil, err
	}
	return StepUp204Response{}, nil
}

func (s *server) ResetUserFactors(
	ctx context.Context, r ResetUserFactorsRequestObject,
) (ResetUserFactorsResponseObject, error) {
	if err := s.Accounts.ResetFactors(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return ResetUserFactors204Response{}, nil
}
