package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// deploymentID answers a malformed id like one that does not exist.
func deploymentID(id string) (controlplane.DeploymentID, error) {
	if !controlplane.ValidID(id) {
		return "", controlplane.NewNotFoundError("deployment", id)
	}
	return controlplane.DeploymentID(id), nil
}

func (s *server) ListDeployments(
	ctx context.Context, r ListDeploymentsRequestObject,
) (ListDeploymentsResponseObject, error) {
	p := r.Params
	order := deploymentOrder(valueOr(p.Sort, ""))
	after, err := order.ParseCursor(valueOr(p.Cursor, ""))
	if err != nil {
		return nil, err
	}
	size := valueOr(p.Limit, 100)
	all, err := s.Lifecycle.List(ctx, actorOf(ctx), lifecycle.Filter{
		Project: valueOr(
			p.Project,
			"",
		), Environment: valueOr(p.Environment, ""), Name: valueOr(p.Name, ""),
		Search: valueOr(p.Search, ""), Removed: valueOr(p.Removed, false), After: after, Order: order,
		Most: size + 1,
		Statuses: convertAll(
			valueOr(p.Status, nil),
			func(s DeploymentFilter) controlplane.DeploymentStatus {
				return controlplane.DeploymentStatus(s)
			},
		),
	})
	if err != nil {
		return nil, err
	}
	all, next := controlplane.CutPage(controlplane.Page{Limit: size}, all,
		func(v lifecycle.View) string { return order.PlaceOf(v.Deployment).Cursor() })
	return ListDeployments200JSONResponse{
		Items: convertAll(all, toDeployment), NextCursor: ptrOrNil(next),
	}, nil
}

func deploymentOrder(sort ListDeploymentsParamsSort) controlplane.DeploymentOrder {
	switch sort {
	case ListDeploymentsParamsSortCreatedAt:
		return controlplane.OldestFirst
	case ListDeploymentsParamsSortName:
		return controlplane.ByName
	case ListDeploymentsParamsSortMinusName:
		return controlplane.NameBackwards
	default:
		return controlplane.NewestFirst
	}
}

func (s *server) CreateDeployment(
	ctx context.Context, r CreateDeploymentRequestObject,
) (CreateDeploymentResponseObject, error) {
	asked := deploymentRequest(*r.Body)
	asked.Key = valueOr(r.Params.IdempotencyKey, "")
	d, err := s.Lifecycle.Create(ctx, actorOf(ctx), asked)
	if err != nil {
		return nil, err
	}
	body, place, err := s.readCreated(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	return CreateDeployment201JSONResponse{
		Body: body, Headers: CreateDeployment201ResponseHeaders{Location: &place},
	}, nil
}

// readCreated returns a new deployment as its creator sees it, and its path.
func (s *server) readCreated(
	ctx context.Context, id controlplane.DeploymentID,
) (body Deployment, place string, err error) {
	v, err := s.Lifecycle.View(ctx, actorOf(ctx), id)
	if err != nil {
		return body, "", err
	}
	return toDeployment(v), "/api/v1/deployments/" + string(id), nil
}

func deploymentRequest(body DeploymentCreate) lifecycle.Request {
	versions := map[pipeline.StepKey]string{}
	for key, tag := range valueOr(body.Versions, nil) {
		versions[pipeline.StepKey(key)] = tag
	}
	return lifecycle.Request{Name: body.Name, Project: body.Project,
		Environment: body.Environment, Versions: versions,
		From: controlplane.DeploymentID(valueOr(body.ClonedFrom, "")), Wait: valueOr(body.Wait, false),
		Version: valueOr(body.PipelineVersion, 0), Input: valueOr(body.Input, nil),
		Required: fromStrings[controlplane.Selector](body.RequiredLabels),
		Priority: valueOr(body.Priority, controlplane.DefaultPriority),
		Patience: time.Duration(valueOr(body.DeadlineSeconds, 0)) * time.Second}
}

func (s *server) GetDeployment(
	ctx context.Context, r GetDeploymentRequestObject,
) (GetDeploymentResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	v, err := s.Lifecycle.View(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetDeployment200JSONResponse(toDeployment(v)), nil
}

// deploymentChange is what Remove, Retry and Forget have in common.
type deploymentChange func(context.Context, access.Actor, controlplane.DeploymentID) (
	controlplane.Deployment, error)

func (s *server) changeDeployment(
	ctx context.Context,
	given string,
	do deploymentChange,
) (Deployment, error) {
	id, err := deploymentID(given)
	if err != nil {
		return Deployment{}, err
	}
	if _, err := do(ctx, actorOf(ctx), id); err != nil {
		return Deployment{}, err
	}
	v, err := s.Lifecycle.View(ctx, actorOf(ctx), id)
	return toDeployment(v), err
}

// withoutInterrupting does not interrupt those who are at the deployment's addresses, unless the
// request says that it is done anyway.
func (s *server) withoutInterrupting(anyway *bool, do deploymentChange) deploymentChange {
	if valueOr(anyway, false) {
		return do
	}
	return func(ctx context.Context, actor access.Actor, id controlplane.DeploymentID) (
		controlplane.Deployment, error) {
		if err := s.Lifecycle.RequireNobodyThere(ctx, actor, id); err != nil {
			return controlplane.Deployment{}, err
		}
		return do(ctx, actor, id)
	}
}

func (s *server) DeleteDeployment(
	ctx context.Context, r DeleteDeploymentRequestObject,
) (DeleteDeploymentResponseObject, error) {
	d, err := s.changeDeployment(ctx, r.Id,
		s.withoutInterrupting(r.Params.Anyway, s.Lifecycle.Remove))
	if err != nil {
		return nil, err
	}
	return DeleteDeployment202JSONResponse(d), nil
}

func (s *server) RetryDeployment(
	ctx context.Context, r RetryDeploymentRequestObject,
) (RetryDeploymentResponseObject, error) {
	body := valueOr(r.Body, Retry{})
	retry := func(ctx context.Context, actor access.Actor,
		id controlplane.DeploymentID) (controlplane.Deployment, error) {
		return s.Lifecycle.Retry(ctx, actor, id, toRetrying(body))
	}
	d, err := s.changeDeployment(ctx, r.Id, s.withoutInterrupting(body.Anyway, retry))
	if err != nil {
		return nil, err
	}
	return RetryDeployment202JSONResponse(d), nil
}

func toRetrying(body Retry) lifecycle.RetryOptions {
	how := lifecycle.RetryOptions{SameVersion: valueOr(body.SameVersion, false)}
	if s := body.DeadlineSeconds; s != nil {
		patience := time.Duration(*s) * time.Second
		how.Patience = &patience
	}
	return how
}

func (s *server) AnswerStep(
	ctx context.Context, r AnswerStepRequestObject,
) (AnswerStepResponseObject, error) {
	d, err := s.changeDeployment(ctx, r.Id, func(ctx context.Context, actor access.Actor,
		id controlplane.DeploymentID) (controlplane.Deployment, error) {
		return s.Lifecycle.AnswerQuestion(ctx, actor, id, lifecycle.ApprovalReply{Run: r.Run,
			Step: pipeline.StepKey(r.Step), Approved: r.Body.Approved,
			Fields: valueOr(r.Body.Fields, nil)})
	})
	if err != nil {
		return nil, err
	}
	return AnswerStep200JSONResponse(d), nil
}

func (s *server) ForgetDeployment(
	ctx context.Context, r ForgetDeploymentRequestObject,
) (ForgetDeploymentResponseObject, error) {
	d, err := s.changeDeployment(ctx, r.Id, s.Lifecycle.Forget)
	if err != nil {
		return nil, err
	}
	return ForgetDeployment200JSONResponse(d), nil
}

func (s *server) ListRuns(
	ctx context.Context, r ListRunsRequestObject,
) (ListRunsResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	all, err := s.Lifecycle.Runs(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	return ListRuns200JSONResponse{Items: convertAll(all, toRun)}, nil
}

func (s *server) GetRun(ctx context.Context, r GetRunRequestObject) (GetRunResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	v, err := s.Lifecycle.Run(ctx, actorOf(ctx), id, r.Run)
	if err != nil {
		return nil, err
	}
	return GetRun200JSONResponse(toRun(v)), nil
}

func (s *server) ListStepLog(
	ctx context.Context, r ListStepLogRequestObject,
) (ListStepLogResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	lines, more, err := s.Logbook.Step(ctx, actorOf(ctx), logbook.StepLines{Deployment: id,
		Run: r.Run, Step: pipeline.StepKey(r.Step), After: valueOr(r.Params.After, 0),
		Most: valueOr(r.Params.Limit, 1000)})
	if err != nil {
		return nil, err
	}
	return ListStepLog200JSONResponse{Items: convertAll(lines, toLogLine), More: more}, nil
}
