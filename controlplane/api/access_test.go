package api_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// visit is how the tests use one operation: on objects that exist, with a body
// that is accepted, so that a refusal is about the person and nothing else.
type visit struct {
	path string
	body any
	// stranger and reader are the statuses for someone without teams, and for a read-only member of
	// the project. 0 means what x-access says.
	stranger, reader int
	// nobody is the status without signing in, if the operation is public and
	// it is another one than 201.
	nobody int
}

type object = map[string]any

// dnsSecret lets certificate orders write to a name server.
const dnsSecret = "canary-dns-2f80b6aa"

// allVisits has a line for each operation of the contract; a test fails when one
// is missing. Paths are below /api/v1. Objects: see world.shop; the deployment is {id}.
func allVisits() map[string]visit {
	const shown = http.StatusOK
	deployment := "/deployments/{id}"
	pipelineBody := object{"pipeline": shopPipeline(), "note": "again"}
	scratchBody := object{"pipeline": shopPipeline(), "name": "scratch", "environment": "qa",
		"versions": object{"api": "1.1"}}
	return map[string]visit{
		"createSession": {path: "/sessions", body: object{"user": "root", "password": password}},
		"createToken": {path: "/tokens",
			body: object{"user": "root", "password": password, "name": "t"}},
		"listSessions":         {path: "/sessions", stranger: shown, reader: shown},
		"deleteSession":        {path: "/sessions/{token}", stranger: 404, reader: 404},
		"deleteCurrentSession": {path: "/sessions/current", stranger: 204, reader: 204},
		"getMe":                {path: "/me", stranger: shown, reader: shown},
		"changePassword": {path: "/me/password", stranger: 204, reader: 204,
			body: object{"current": password, "password": password}},
		"getSignIn":          {path: "/sign-in", nobody: shown},
		"beginPasskeySignIn": {path: "/sign-in/passkey", nobody: shown},
		"beginDeviceLogin":   {path: "/device-logins", body: object{"name": "laptop"}},
		"pollDeviceLogin": {path: "/device-logins/token", nobody: 400,
			body: object{"device_code": "x"}},
		"getDeviceLogin":     {path: "/me/device-logins/BCDF-GHJK", stranger: 403, reader: 403},
		"approveDeviceLogin": {path: "/me/device-logins/BCDF-GHJK", stranger: 403, reader: 403},
		"denyDeviceLogin":    {path: "/me/device-logins/BCDF-GHJK", stranger: 403, reader: 403},
		"createPasskeySession": {path: "/sign-in/passkey/answer", nobody: 400,
			body: object{"ticket": "x", "credential": object{}}},
		"listFactors":  {path: "/me/factors", stranger: shown, reader: shown},
		"deleteFactor": {path: "/me/factors/{token}", stranger: 403, reader: 403},
		"beginPasskey": {path: "/me/passkeys/question", stranger: 403, reader: 403},
		"addPasskey": {path: "/me/passkeys", stranger: 403, reader: 403,
			body: object{"ticket": "x", "credential": object{}, "name": "laptop"}},
		"beginAuthenticator": {path: "/me/authenticators", stranger: 403, reader: 403,
			body: object{"name": "phone"}},
		"confirmAuthenticator": {path: "/me/authenticators/{token}", stranger: 403, reader: 403,
			body: object{"code": "123456"}},
		"replaceRecoveryCodes": {path: "/me/recovery-codes", stranger: 403, reader: 403},
		"beginStepUp":          {path: "/me/step-up/passkey", stranger: 403, reader: 403},
		"stepUp": {path: "/me/step-up", stranger: 403, reader: 403,
			body: object{"password": password}},
		"resetUserFactors": {path: "/users/full/factors"},
		"acceptInvitation": {path: "/invitations/accept", nobody: 403, body: object{"link": "x",
			"address": "spare@example.org", "name": "spare", "password": password}},
		"resetPassword": {path: "/password-resets", nobody: 403,
			body: object{"link": "x", "password": password}},
		"createInvitation": {path: "/invitations",
			body: object{"address": "spare@example.org", "role": "user"}},
		"listInvitations":  {path: "/invitations"},
		"deleteInvitation": {path: "/invitations/{token}"},
		"createResetLink":  {path: "/users/full/reset"},
		"createOwnToken": {path: "/me/tokens", stranger: 403, reader: 403,
			body: object{"name": "t"}},
		"listUserTokens":  {path: "/users/robot/tokens"},
		"createUserToken": {path: "/users/robot/tokens", body: object{"name": "t"}},
		"deleteUserToken": {path: "/users/robot/tokens/{token}"},
		"explainAccess":   {path: "/me/access?object=project/shop", stranger: shown, reader: shown},
		"getInbox":        {path: "/me/inbox", stranger: shown, reader: shown},
		"markInbox": {path: "/me/inbox", stranger: shown, reader: shown,
			body: object{"ids": []string{nobodysDeployment}, "read": true}},
		"listOwnAccessRequests": {path: "/me/access-requests", stranger: shown, reader: shown},
		"createAccessRequest": {path: "/me/access-requests", stranger: 404, reader: shown,
			body: object{"object": "project/shop"}},
		"listAccessRequests": {path: "/access-requests"},
		"closeAccessRequest": {path: "/access-requests/" + nobodysDeployment},

		"listTokens":  {path: "/tokens", stranger: shown, reader: shown},
		"deleteToken": {path: "/tokens/{token}", stranger: 404, reader: 404},
		"getVersion":  {path: "/version", stranger: shown, reader: shown},

		"listRegistries": {path: "/registries", stranger: shown, reader: shown},
		"getRegistry":    {path: "/registries/local", stranger: 404, reader: shown},
		"applyDocuments": {path: "/documents", body: object{"documents": []object{
			{"kind": "registry", "name": "third", "definition": object{"host": "localhost:5002",
				"insecure": true}}}}},
		"previewDocuments": {path: "/documents/preview", body: object{"documents": []object{
			{"kind": "registry", "name": "fourth", "definition": object{"host": "localhost:5003",
				"insecure": true}}}}},
		"putRegistry": {path: "/registries/local",
			body: object{"host": "localhost:5000", "insecure": true, "username": "puller",
				"password": registrySecret}},
		"deleteRegistry": {path: "/registries/unused"},
		"testRegistry":   {path: "/registries/local/test", body: object{"image": "shop/api"}},
		"listServices":   {path: "/services", stranger: shown, reader: shown},
		"getService":     {path: "/services/api", stranger: 404, reader: shown},
		"putService": {path: "/services/web",
			body: object{"registry": "local", "image": "shop/web", "tag_mode": "selectable"}},
		"deleteService":      {path: "/services/web"},
		"getServiceImage":    {path: "/services/api/image", stranger: 404, reader: shown},
		"listServiceTags":    {path: "/services/api/tags?order=version", stranger: 404, reader: shown},
		"listNodeTemplates":  {path: "/node-templates"},
		"getNodeTemplate":    {path: "/node-templates/gpu"},
		"putNodeTemplate":    {path: "/node-templates/gpu", body: object{}},
		"deleteNodeTemplate": {path: "/node-templates/gpu"},
		"createProvisioningToken": {path: "/provisioning-tokens",
			body: object{"environment": "qa", "max_uses": 1}},
		"listProvisioningTokens": {
			path: "/provisioning-tokens"},
		"revokeProvisioningToken": {
			path: "/provisioning-tokens/abcd2345"},
		"enrolMachine": {path: "/enrolments", nobody: 403,
			body: object{"token": "x", "certificate": "eA==", "signature": "eA=="}},
		"listStarterEntries": {path: "/catalogue"},
		"addStarterEntry":    {path: "/catalogue/postgres", body: object{"name": "spare-db"}},
		"listPlugins":        {path: "/plugins", stranger: shown, reader: shown},
		"getPlugin":          {path: "/plugins/seed", stranger: 404, reader: shown},
		"putPlugin": {path: "/plugins/other",
			body: object{"registry": "local", "image": "plugins/other", "tag": "1.0",
				"component": object{}}},
		"deletePlugin": {path: "/plugins/other"},

		"listEnvironments":   {path: "/environments", stranger: shown, reader: shown},
		"getEnvironment":     {path: "/environments/qa", stranger: 404, reader: shown},
		"putEnvironment":     {path: "/environments/spare", body: object{"domain": "localhost"}},
		"deleteEnvironment":  {path: "/environments/spare"},
		"getEnvironmentGate": {path: "/environments/qa/gate", stranger: 404, reader: shown},
		"putEnvironmentGate": {path: "/environments/qa/gate",
			body: object{"gate": "open", "redirect_https": false}},
		"getCertificateOrders": {path: "/environments/qa/certificate-orders"},
		"putCertificateOrders": {path: "/environments/qa/certificate-orders",
			body: object{"challenge": "dns-01", "directory": "https://acme.invalid/directory",
				"dns": "webhook", "dns_server": "https://hook.invalid", "dns_user": "u",
				"dns_secret": dnsSecret}},
		"deleteCertificateOrders": {path: "/environments/qa/certificate-orders"},
		"retryCertificateOrders":  {path: "/environments/qa/certificate-orders/retry"},
		"listRobots":              {path: "/environments/qa/robots"},
		"createRobot": {path: "/environments/qa/robots",
			body: object{"label": "ci", "hours": 1}},
		"deleteRobot":      {path: "/environments/qa/robots/" + nobodysDeployment},
		"listCertificates": {path: "/certificates"},
		"putCertificate": {path: "/certificates/spare",
			body: selfSignedPair("*.spare.localhost", time.Hour)},
		"deleteCertificate":          {path: "/certificates/spare"},
		"getCertificateAuthority":    {path: "/certificate-authority", stranger: 404, reader: 404},
		"createCertificateAuthority": {path: "/certificate-authority"},
		"deleteCertificateAuthority": {path: "/certificate-authority"},
		"listProjects":               {path: "/projects", stranger: shown, reader: shown},
		"getProject":                 {path: "/projects/shop", stranger: 404, reader: shown},
		"putProject": {path: "/projects/spare",
			body: object{"resources": object{"cpu": 1, "memory_mib": 64}}},
		"deleteProject":    {path: "/projects/spare"},
		"getPipeline":      {path: "/projects/shop/pipeline", stranger: 404, reader: shown},
		"putPipeline":      {path: "/projects/shop/pipeline", body: pipelineBody},
		"validatePipeline": {path: "/projects/shop/pipeline/validate", body: pipelineBody},
		"readCompose": {path: "/projects/shop/compose",
			body: object{"text": "services: {web: {image: nginx}}"}},
		"testScript": {path: "/scripts/test",
			body: object{"source": "export default () => {}"}},
		"preflightDraft":       {path: "/projects/shop/pipeline/preflight", body: scratchBody},
		"createScratch":        {path: "/projects/shop/pipeline/scratch", body: scratchBody},
		"listPipelineVersions": {path: "/projects/shop/pipeline/versions", stranger: 404, reader: shown},
		"getPipelineVersion": {path: "/projects/shop/pipeline/versions/1",
			stranger: 404, reader: shown},
		"diffPipelineVersion": {path: "/projects/shop/pipeline/versions/1/diff",
			stranger: 404, reader: shown},
		"restorePipelineVersion": {path: "/projects/shop/pipeline/versions/1/restore"},
		"getDraft":               {path: "/projects/shop/draft", stranger: 403, reader: 403},
		"putDraft": {path: "/projects/shop/draft", stranger: 403, reader: 403,
			body: object{"base_version": 1, "content": object{"steps": []any{}}}},
		"deleteDraft": {path: "/projects/shop/draft", stranger: 403, reader: 403},
		"listSecrets": {path: "/projects/shop/secrets"},
		"putSecret": {path: "/projects/shop/secrets/SPARE",
			body: object{"value": projectSecret}},
		"deleteSecret": {path: "/projects/shop/secrets/SPARE"},

		"listTeams":  {path: "/teams", stranger: shown, reader: shown},
		"getTeam":    {path: "/teams/team-full", stranger: 404, reader: 404},
		"putTeam":    {path: "/teams/spare", body: object{"members": []string{"full"}}},
		"deleteTeam": {path: "/teams/spare"},
		"listUsers":  {path: "/users"},
		"getUser":    {path: "/users/full"},
		"putUser":    {path: "/users/spare", body: object{"role": "user", "password": password}},
		"deleteUser": {path: "/users/spare"},

		"getSettings": {path: "/settings"},
		"listBackups": {path: "/backups"},
		"startBackup": {path: "/backups"},
		"testSignOn":  {path: "/settings/sign-on/test"},
		"testMail":    {path: "/settings/mail/test"},
		"listKeys":    {path: "/keys"},
		"rotateKeys":  {path: "/keys/rotate"},
		"listAudit":   {path: "/audit", stranger: shown, reader: shown},
		"exportAudit": {path: "/audit/export", stranger: shown, reader: shown},
		"verifyAudit": {path: "/audit/verify"},

		"listNodes": {path: "/nodes"},
		"createNode": {path: "/nodes",
			body: object{"name": "spare", "environment": "qa", "address": "127.0.0.1:5001"}},
		"putNode": {path: "/nodes/spare-put",
			body: object{"environment": "qa", "address": "127.0.0.1:5007"}},
		"getNode":        {path: "/nodes/node-1"},
		"getNodeMetrics": {path: "/nodes/node-1/metrics?resolution=minute"},
		"deleteNode":     {path: "/nodes/spare"},
		"enableNode":     {path: "/nodes/spare/enable"},
		"disableNode":    {path: "/nodes/spare/disable"},
		"approveNode": {path: "/nodes/spare/approve",
			body: object{"thumbprint": strings.Repeat("ab", 32)}},
		"rejectNode": {path: "/nodes/spare/reject",
			body: object{"thumbprint": strings.Repeat("ab", 32)}},
		"drainNode":          {path: "/nodes/spare/drain", body: object{}},
		"getNodeDrain":       {path: "/nodes/spare/drain"},
		"undrainNode":        {path: "/nodes/spare/drain"},
		"forgetNode":         {path: "/nodes/lost/forget"},
		"listForgottenNodes": {path: "/forgotten-nodes"},
		"recoverNode":        {path: "/nodes/spare/recover"},
		"upgradeNode":        {path: "/nodes/spare/upgrade"},
		"giveUpMachine":      {path: "/nodes/spare/machines/worker-2/give-up"},
		"adoptDeployment":    {path: "/nodes/spare/unknown/" + nobodysDeployment + "/adopt"},
		"purgeDeployment":    {path: "/nodes/spare/unknown/" + nobodysDeployment + "/purge"},
		"recreateDisputed":   {path: "/nodes/spare/unknown/" + nobodysDeployment + "/recreate"},

		"listUnknownDeployments": {path: "/nodes/node-1/unknown"},
		"listNodeEvents":         {path: "/nodes/node-1/events"},
		"streamNodes":            {path: "/events/nodes"},
		"provisionNode": {path: "/nodes/spare/provisions", body: object{"ssh": object{
			"host": "127.0.0.1", "port": 2, "user": "root", "password": password,
			"host_key": "SHA256:" + strings.Repeat("a", 43)}}},
		"listProvisions":  {path: "/nodes/spare/provisions"},
		"getProvision":    {path: "/nodes/provisioned/provisions/1"},
		"streamProvision": {path: "/nodes/provisioned/provisions/1/events"},
		"forgetNodeSSH":   {path: "/nodes/spare/ssh"},
		"readSSHHostKey":  {path: "/ssh-host-key", body: object{"host": "127.0.0.1", "port": 2}},
		"rotateNodeToken": {path: "/nodes/spare/token"},
		"revokeNodeToken": {path: "/nodes/spare/token"},

		"listRules": {path: "/rules"},
		"getRule":   {path: "/rules/rule"},
		"putRule": {path: "/rules/rule", body: object{"source": "github", "project": "shop",
			"environment": "qa", "tag": "pr-{number}", "secret": ruleSecret, "token": ruleToken}},
		"approveCommit": {path: "/rules/forks/approvals", body: object{"key": "acme/shop#12",
			"commit": "4f2a91c"}},
		"deleteRule":           {path: "/rules/rule"},
		"createSupportArchive": {path: "/support"},
		"listLogLevels":        {path: "/log-levels"},
		"setLogLevel": {path: "/log-levels/fleet", body: object{"level": "debug",
			"until": time.Now().Add(time.Hour).Format(time.RFC3339)}},
		"endLogLevel": {path: "/log-levels/fleet"},

		"listAlerts":       {path: "/alerts", stranger: shown, reader: shown},
		"acknowledgeAlert": {path: "/alerts/{token}/acknowledge", stranger: 404, reader: 404},
		"silenceAlert": {path: "/alerts/{token}/silence", stranger: 404, reader: 404,
			body: object{"until": time.Now().Add(time.Hour).Format(time.RFC3339)}},
		"endAlertSilence": {path: "/alerts/{token}/silence", stranger: 404, reader: 404},
		"listSources":     {path: "/sources"},
		"getSource":       {path: "/sources/repo"},
		"putSource": {path: "/sources/repo", body: object{"url": "http://127.0.0.1:9/x.git",
			"token": ruleToken, "secret": ruleSecret, "webhook": "github"}},
		"deleteSource":        {path: "/sources/repo"},
		"syncSource":          {path: "/sources/repo/sync"},
		"applySource":         {path: "/sources/repo/apply", body: object{"commit": sourceCommit}},
		"getDefinitionOrigin": {path: "/documents/service/api/origin"},
		"listWebhooks":        {path: "/webhooks"},
		"getWebhook":          {path: "/webhooks/hook"},
		"putWebhook": {path: "/webhooks/hook", body: object{"kind": "json",
			"url": "http://127.0.0.1:9/" + hookSecret, "events": []string{"deployment.ready"}}},
		"deleteWebhook":    {path: "/webhooks/hook"},
		"testWebhook":      {path: "/webhooks/hook/test"},
		"listDeliveries":   {path: "/webhooks/hook/deliveries"},
		"redeliver":        {path: "/webhooks/hook/deliveries/" + nobodysDeployment + "/redeliver"},
		"getNotifications": {path: "/me/notifications", stranger: shown, reader: shown},
		"putNotifications": {path: "/me/notifications", stranger: shown, reader: shown,
			body: object{"choices": []object{{"email": "ada@example.org",
				"events": []string{"deployment.failed"}}}}},

		"getUsage":            {path: "/usage?by=project,day", stranger: shown, reader: shown},
		"exportUsage":         {path: "/usage/ledger", stranger: shown, reader: shown},
		"correctUsage":        {path: "/usage/ledger/1/correction", body: object{"reason": "test"}},
		"listIdleDeployments": {path: "/usage/idle", stranger: shown, reader: shown},
		"getUsagePrices":      {path: "/usage/prices", stranger: shown, reader: shown},
		"putUsagePrices":      {path: "/usage/prices", body: object{"currency": "EUR"}},
		"listBudgets":         {path: "/usage/budgets"},
		"putBudget": {path: "/usage/budgets/shop", body: object{"scope": "project",
			"subject": "shop", "measure": "cpu_hours", "amount": 10}},
		"deleteBudget": {path: "/usage/budgets/shop"},

		"listQueue":       {path: "/queue", stranger: shown, reader: shown},
		"listDeployments": {path: "/deployments", stranger: shown, reader: shown},
		"createDeployment": {path: "/deployments", body: object{"name": "second", "project": "shop",
			"environment": "qa", "versions": object{"api": "1.1"}}},
		"preflightDeployment": {path: "/deployments/preflight", stranger: shown, reader: shown,
			body: object{"name": "second", "project": "shop", "environment": "qa",
				"versions": object{"api": "1.1"}}},
		"getDeployment":    {path: deployment},
		"extendDeployment": {path: deployment + "/extend"},
		"moveDeployment":   {path: deployment + "/move", body: object{}},
		"listActivity":     {path: deployment + "/activity"},
		"listComments":     {path: deployment + "/comments"},
		"createComment":    {path: deployment + "/comments", body: object{"body": "it works"}},
		"deleteComment":    {path: deployment + "/comments/" + nobodysDeployment},
		"listMentionable":  {path: deployment + "/people"},
		"listVerdicts":     {path: deployment + "/verdicts"},
		"giveVerdict": {path: deployment + "/verdicts", body: object{"outcome": "passed",
			"digest_set": strings.Repeat("a", 64)}},
		"getVerdictStatement": {path: deployment + "/verdicts/" + leftVerdict + "/statement"},
		"getVerdictKey":       {path: "/verdict-key", stranger: shown, reader: shown},
		"rotateVerdictKey":    {path: "/verdict-key/rotate"},
		"holdDeployment":      {path: deployment + "/hold", body: object{"reason": "a demo"}},
		"releaseDeployment":   {path: deployment + "/hold"},
		"recreateDeployment":  {path: deployment + "/recreate", body: object{"name": "once-more"}},
		"getCloneSheet":       {path: deployment + "/clone-sheet"},
		"diffDeployments":     {path: deployment + "/diff?with={id}"},
		"getCapsule":          {path: deployment + "/capsule"},
		"listBranchTags": {path: "/projects/shop/branch-tags?branch=main", stranger: 404,
			reader: shown},
		"listTemplates": {path: "/projects/shop/templates", stranger: 404, reader: shown},
		"getTemplate":   {path: "/projects/shop/templates/spare", stranger: 404, reader: 404},
		"putTemplate": {path: "/projects/shop/templates/spare", stranger: 404, reader: 403,
			body: object{"versions": object{"api": "1.0"}}},
		"deleteTemplate":       {path: "/projects/shop/templates/spare", stranger: 404, reader: 403},
		"deleteDeployment":     {path: deployment},
		"retryDeployment":      {path: deployment + "/retry"},
		"forgetDeployment":     {path: deployment + "/forget"},
		"checkDeployment":      {path: deployment + "/check"},
		"getDeploymentMetrics": {path: deployment + "/metrics"},
		"getDeploymentGate":    {path: deployment + "/gate"},
		"putDeploymentGate":    {path: deployment + "/gate", body: object{"gate": "open"}},
		"listGuests":           {path: deployment + "/passes"},
		"createGuest": {path: deployment + "/passes",
			body: object{"label": "guest", "hours": 1}},
		"deleteGuest":           {path: deployment + "/passes/" + nobodysDeployment},
		"listRuns":              {path: deployment + "/runs"},
		"listDeploymentSecrets": {path: deployment + "/secrets"},
		"revealSecret":          {path: deployment + "/secrets/DB_PASSWORD/reveal"},
		"getRun":                {path: deployment + "/runs/1"},
		"compareRun":            {path: deployment + "/runs/1/comparison"},
		"listStepLog":           {path: deployment + "/runs/1/steps/seed/log"},
		"getStepTests":          {path: deployment + "/runs/1/steps/seed/tests"},
		"answerStep": {path: deployment + "/runs/1/steps/seed/answer",
			body: object{"approved": true}},
		"listMails":              {path: deployment + "/mails?search=x"},
		"clearMails":             {path: deployment + "/mails"},
		"streamMails":            {path: deployment + "/mails/changes"},
		"getMail":                {path: deployment + "/mails/1"},
		"deleteMail":             {path: deployment + "/mails/1"},
		"getMailPage":            {path: deployment + "/mails/1/page"},
		"downloadMail":           {path: deployment + "/mails/1/raw"},
		"downloadMailAttachment": {path: deployment + "/mails/1/attachments/0"},
		"streamServiceLogs":      {path: deployment + "/services/api/logs"},
		"createReachTicket": {path: deployment + "/services/api/tickets",
			body: object{"kind": "terminal"}},
		"readServiceFile": {path: deployment + "/services/api/files/read",
			body: object{"path": "/etc/hosts"}},
		"writeServiceFile": {path: deployment + "/services/api/files?path=/tmp/x",
			body: fileContent("x")},
		"openReach":        {path: "/reach", stranger: 400, reader: 400},
		"streamLogs":       {path: deployment + "/logs?source=api&source=seed"},
		"downloadLogs":     {path: deployment + "/logs/download?search=x"},
		"streamDeployment": {path: deployment + "/events"},
		"streamEvents":     {path: "/events", stranger: shown, reader: shown},
	}
}

// operation is one operation of the contract.
type operation struct {
	method string
	path   string
	op     *openapi3.Operation
	access access.Action
	visit  visit
}

// readOperations reads the contract, and holds the table to it.
func readOperations(t *testing.T) map[string]operation {
	t.Helper()
	spec, err := api.GetSpec()
	if err != nil {
		t.Fatal(err)
	}
	table, all := allVisits(), map[string]operation{}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			action, _ := op.Extensions["x-access"].(string)
			// The generator spells ids like its methods.
			id := strings.ToLower(op.OperationID[:1]) + op.OperationID[1:]
			v, ok := table[id]
			if !ok {
				t.Errorf("operation %s has no line in the table of visits", id)
			}
			delete(table, id)
			v.path = "/api/v1" + v.path
			all[id] = operation{method, path, op, access.Action(action), v}
		}
	}
	for id := range table {
		t.Errorf("operation %s is not in the contract", id)
	}
	return all
}

// reads reports whether the contract says that the operation changes nothing.
func (o operation) reads() bool {
	reads, _ := o.op.Extensions["x-reads"].(bool)
	return reads || o.method == http.MethodGet
}

// A token that only reads reads what its user may, and changes nothing, even
// in an admin's hands.
func TestAccess_ReadOnlyToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	made := w.call("POST", "/api/v1/tokens", "", object{"user": "root", "password": password,
		"name": "ci", "scope": "read", "expires_in_days": 1})
	if made.status != http.StatusCreated {
		t.Fatalf("make a token: %s", made.body)
	}
	token := made.field("token")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		if o.access == access.Public {
			continue
		}
		a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
		refused := a.status == http.StatusForbidden &&
			strings.Contains(string(a.body), `"token_read_only"`)
		if refused == o.reads() {
			t.Errorf("%s with a read token: %d %s", id, a.status, a.body)
		}
	}
	w.expectUnchanged(d)
}

func operationNames(all map[string]operation) []string {
	ids := make([]string, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

// fillPath fills the path's ids in.
func fillPath(path string, d controlplane.Deployment) string {
	return strings.NewReplacer("{id}", string(d.ID), "{token}",
		"01890a5d-ac96-774b-bcce-b302099a8057").Replace(path)
}

// Every operation of the contract has an x-access with a known action.
func TestContract_EachOperationHasAccess(t *testing.T) {
	t.Parallel()
	known := map[access.Action]bool{}
	for _, a := range access.Actions() {
		known[a] = true
	}
	for id, o := range readOperations(t) {
		if !known[o.access] {
			t.Errorf("%s: x-access %q is not one of %v", id, o.access, access.Actions())
		}
	}
}

// Nobody gets past the door of anything that is not public, and learns nothing
// about whether the object exists.
func TestAccess_Nobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		a := w.call(o.method, fillPath(o.visit.path, d), "", o.visit.body)
		if o.access == access.Public {
			if want := cmp.Or(o.visit.nobody, http.StatusCreated); a.status != want {
				t.Errorf("%s as nobody: %d, want %d: %s", id, a.status, want, a.body)
			}
			continue
		}
		// promise: N-019
		if a.status != http.StatusUnauthorized || a.field("code") != "unauthenticated" {
			t.Errorf("%s as nobody: %d %s, want 401", id, a.status, a.body)
		}
		forged := w.call(o.method, fillPath(o.visit.path, d), "nop_aaaaaaaa_bbbbbbbbbbbb", o.visit.body)
		if forged.status != http.StatusUnauthorized {
			t.Errorf("%s with a forged token: %d, want 401", id, forged.status)
		}
	}
}

// Someone without any team changes nothing, and sees of others' work nothing, not even that it
// exists.
//
// threat: T15
func TestAccess_Stranger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	token := w.token("stranger")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		if o.access == access.Public {
			continue
		}
		want := o.visit.stranger
		switch {
		case o.access == access.Admin:
			want = http.StatusForbidden
		case want == 0:
			want = http.StatusNotFound
		}
		a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
		token = w.tokenAfter(id, "stranger", token)
		// promise: N-006
		if a.status != want {
			t.Errorf("%s as a stranger: %d, want %d: %s", id, a.status, want, a.body)
		}
		// promise: N-007
		for _, name := range []string{d.Name, "team-full", "shop/api", "node-1"} {
			if strings.HasPrefix(id, "list") && strings.Contains(string(a.body), `"`+name+`"`) {
				t.Errorf("%s shows a stranger %q: %s", id, name, a.body)
			}
		}
	}
	w.expectUnchanged(d)
}

// A read-only member sees everything of the project and can change nothing.
//
// threat: T16
func TestAccess_Reader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	w.leaveTests(d, "seed")
	w.leaveVerdict(d)
	token := w.token("reader")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		want := o.visit.reader
		switch o.access {
		case access.Public:
			continue
		case access.Admin, access.WriteDeployment, access.AnswerDeployment, access.RevealSecret,
			access.GiveVerdict:
			want = http.StatusForbidden
		case access.ReadDeployment:
			want = http.StatusOK
		case access.CommentDeployment:
			// There is no comment that they could delete.
			want = map[string]int{"createComment": http.StatusCreated,
				"deleteComment": http.StatusNotFound}[id]
		}
		a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
		token = w.tokenAfter(id, "reader", token)
		// promise: N-013, N-014, I-01
		if a.status != want {
			t.Errorf("%s as a reader: %d, want %d: %s", id, a.status, want, a.body)
		}
	}
	w.expectUnchanged(d)
}

// tokenAfter is the token to continue with: a new password ends the person's old ones.
func (w *world) tokenAfter(operation, user, token string) string {
	w.t.Helper()
	if operation == "changePassword" {
		return w.token(user)
	}
	return token
}

// expectUnchanged makes sure that all those refusals were refusals.
func (w *world) expectUnchanged(d controlplane.Deployment) {
	w.t.Helper()
	all, err := w.lifecycle.List(w.t.Context(), system, lifecycle.Filter{Removed: true, Most: 10})
	if err != nil || len(all) != 1 || all[0].ID != d.ID || all[0].Revision != d.Revision {
		w.t.Errorf("something changed: %v, %v", all, err)
	}
	spare := w.call("GET", "/api/v1/users/spare", w.token("root"), nil)
	if spare.status != http.StatusNotFound {
		w.t.Errorf("a user was made by somebody who may not: %d", spare.status)
	}
}

// usageRow writes the first row of the usage ledger, for the deployment.
func (w *world) usageRow(d controlplane.Deployment) {
	w.t.Helper()
	pgtest.Exec(w.t, w.database, `INSERT INTO usage_ledger (kind, deployment_id, deployment,
			project_id, project, environment_id, environment, node, team, person, from_at, until_at,
			millicore_seconds, written_by)
		VALUES ('allocated', $1, 'first', $2, 'shop', $3, 'qa', 'node-1', '', 'root',
			'2026-11-01 00:00:00+00', '2026-11-01 01:00:00+00', 1000, 'test')`,
		string(d.ID), string(d.ProjectID), string(d.EnvironmentID))
}

// nobodysDeployment is one that was never there.
const nobodysDeployment = "01a1fc00-0000-7000-8000-000000000000"

// needsAgent are operations that an agent, or a server which is not set up here, has a part in:
// without one they are refused, in the contract's form.
var needsAgent = map[string]bool{"testMail": true, "testSignOn": true, "startBackup": true,
	"recoverNode": true, "adoptDeployment": true,
	"purgeDeployment": true, "recreateDisputed": true, "upgradeNode": true, "openReach": true,
	"giveUpMachine": true, "moveDeployment": true, "checkDeployment": true, "revealSecret": true,
	// What QA judges is ready, which only an agent can say.
	"giveVerdict": true}

// needsOwn are operations about a session, a token or a link that the walk does
// not have: they say so, in the contract's form. TestProvisioningTokens uses two of them, and
// TestFactors_… those of second factors, TestDeviceLogin those of programs that sign in.
var needsOwn = map[string]bool{"deleteToken": true, "deleteSession": true,
	"acceptInvitation": true, "resetPassword": true, "deleteInvitation": true,
	"createOwnToken": true, "deleteUserToken": true, "deleteGuest": true, "deleteRobot": true,
	"enrolMachine": true, "revokeProvisioningToken": true,
	"deleteComment": true, "closeAccessRequest": true,
	// By then the deployment is forgotten: the story CaughtMails deletes some.
	"deleteMail": true,
	// Who has everything has nothing to ask for.
	"createAccessRequest":  true,
	"createPasskeySession": true, "addPasskey": true, "beginPasskey": true,
	"beginAuthenticator": true, "confirmAuthenticator": true, "replaceRecoveryCodes": true,
	"beginStepUp": true, "stepUp": true, "deleteFactor": true,
	"pollDeviceLogin": true, "getDeviceLogin": true, "approveDeviceLogin": true,
	"denyDeviceLogin": true}

// An admin can use every operation, each answer has the contract's form, and no
// answer and no log line holds a secret that was put in.
func TestContract_AdminWalk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	token := w.token("root")
	all := readOperations(t)
	w.expectSaved(w.catalog.PutRegistry(t.Context(), system, unusedRegistry()))
	w.call("PUT", "/api/v1/node-templates/gpu", token, object{"description": "spare"})
	w.usageRow(d)
	walked := map[string]bool{}
	walk := func(id string) {
		o := all[id]
		walked[id] = true
		w.before(id, d)
		before := w.newest(token, "root").Items[0].Id
		a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
		token = w.tokenAfter(id, "root", token)
		if a.status < 300 && !o.reads() && !unaudited[id] {
			w.hasEntry(id, token, before)
		}
		// promise: B-18
		if a.status >= 300 && id != "approveNode" && id != "rejectNode" && id != "answerStep" &&
			id != "redeliver" &&
			!needsAgent[id] && !needsOwn[id] {
			t.Errorf("%s as admin: %d %s", id, a.status, a.body)
		}
		hasForm(t, id, o.op, a)
	}
	for _, id := range operationNames(all) {
		if !strings.HasPrefix(id, "delete") && !last[id] {
			walk(id)
		}
	}
	for _, id := range []string{"enableNode", "disableNode", "approveNode", "rejectNode",
		"rotateNodeToken", "revokeNodeToken", "retryDeployment", "forgetDeployment", "forgetNode"} {
		walk(id)
	}
	for _, id := range operationNames(all) {
		if !walked[id] {
			walk(id)
		}
	}
	for _, value := range typedIn {
		if containsValue(w.seen.String(), value) {
			t.Errorf("%q is in an answer", value)
		}
		if containsValue(w.log.String(), value) {
			t.Errorf("%q is in the log", value)
		}
	}
	if !containsValue(w.seen.String(), "shop/api") {
		t.Error("the search finds nothing at all")
	}
}

// unaudited leave no entry of their own: a ticket has one when it is used, and so have the answer
// to a question for a passkey and the confirmation of a program that signs in; a draft is a
// person's unpublished work, a machine's host key is only read, and what somebody has read of
// their own notices changes nothing.
var unaudited = map[string]bool{"createReachTicket": true, "putDraft": true, "deleteDraft": true,
	"readSSHHostKey": true, "markInbox": true, "beginPasskeySignIn": true,
	"beginDeviceLogin": true}

// hasEntry holds what an admin did to the audit: there is a new entry, with who did
// what to which object, when, and that it succeeded.
func (w *world) hasEntry(id, token, before string) {
	w.t.Helper()
	entry := w.newest(token, "root").Items[0]
	// promise: N-288
	if entry.Id == before || entry.Result != api.AuditResultOk || entry.Actor != "root" ||
		entry.Action == "" || entry.Object == "" || time.Since(entry.At).Abs() > time.Hour {
		w.t.Errorf("%s succeeded without an entry in the audit: the newest is %+v", id, entry)
	}
}

// typedIn are the secrets that people put in.
var typedIn = []string{registrySecret, projectSecret, password, hookSecret, ruleSecret, ruleToken,
	dnsSecret}

// last are the operations whose order matters.
var last = map[string]bool{"enableNode": true, "disableNode": true, "approveNode": true,
	"rotateNodeToken": true, "revokeNodeToken": true, "retryDeployment": true,
	"forgetDeployment": true, "rejectNode": true, "forgetNode": true}

// before puts things into the state an operation needs.
func (w *world) before(id string, d controlplane.Deployment) {
	w.t.Helper()
	// On a busy machine a walk takes minutes, and a node without measurements for minutes gets no run.
	w.storeUsage(w.node, 0, 0.1, 1<<28)
	switch id {
	case "getCertificateOrders", "deleteCertificateOrders":
		w.expectSaved(nil, w.certificates.PutACME(w.t.Context(), system, "qa", certificates.ACMEPut{
			ACME: controlplane.ACME{Challenge: controlplane.ChallengeHTTP,
				Directory: "https://acme.invalid/directory"}}))
	case "getStepTests":
		w.leaveTests(d, "seed")
	case "getVerdictStatement":
		w.leaveVerdict(d)
	case "acknowledgeAlert":
		w.expectSaved(nil, w.store.InTx(w.t.Context(), func(tx *postgres.Tx) error {
			return tx.Alerts().Start(w.t.Context(), []controlplane.AlertStart{{
				AlertCause: controlplane.AlertCause{Condition: "job.failing", Subject: "expire"},
				Severity:   controlplane.SeverityCritical}})
		}))
		pgtest.Exec(w.t, w.database, "UPDATE alerts SET id = '01890a5d-ac96-774b-bcce-b302099a8057'")
	case "endLogLevel":
		w.expectSaved(nil, w.store.InTx(w.t.Context(), func(tx *postgres.Tx) error {
			return tx.Diagnosis().PutLevel(w.t.Context(), controlplane.LogLevel{Component: "fleet",
				Level: "debug", Until: time.Now().Add(time.Hour), SetBy: "root"})
		}))
	case "getSource", "syncSource", "applySource", "deleteSource":
		w.leaveSource("repo")
	case "getRule":
		w.makeRule("rule", "github", "")
	case "approveCommit":
		w.makeRule("forks", "github", "", object{"tag": "{short}", "forks": true})
		w.github("forks", pullRequest("opened", "main", "4f2a91c0", "eve/shop"))
	case "getWebhook":
		w.makeWebhook("hook", "http://127.0.0.1:9/"+hookSecret)
	case "getTemplate":
		w.expectSaved(w.lifecycle.PutTemplate(w.t.Context(), system, "shop",
			controlplane.Template{Name: "spare"}))
	case "getProvision":
		w.expectSaved(w.nodes.AddNode(w.t.Context(), system, nodes.Put{Name: "provisioned",
			Environment: "qa", Address: "127.0.0.1:5010"}))
		w.expectSaved(w.nodes.ProvisionNode(w.t.Context(), system, "provisioned", &nodes.SSHPut{
			Host: "127.0.0.1", Port: 2, User: "root", Password: controlplane.NewPlain(password),
			HostKey: "SHA256:" + strings.Repeat("a", 43)}))
	case "forgetNode":
		w.expectSaved(w.nodes.AddNode(w.t.Context(), system, nodes.Put{Name: "lost",
			Environment: "qa", Address: "127.0.0.1:5009"}))
	case "retryDeployment":
		w.report(d, lifecycle.Report{Status: controlplane.Failed, Code: "x", Message: "it broke"})
	case "forgetDeployment":
		now, err := w.lifecycle.Remove(w.t.Context(), system, d.ID)
		w.expectSaved(now, err)
		w.report(now, lifecycle.Report{Status: controlplane.Stuck, Left: []string{"a volume"}})
	}
}

// hasForm holds an answer to the contract.
func hasForm(t *testing.T, id string, op *openapi3.Operation, a answer) {
	t.Helper()
	response := op.Responses.Status(a.status)
	if response == nil {
		response = op.Responses.Default()
	}
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content := response.Value.Content.Get(media)
	if len(response.Value.Content) == 0 {
		if len(a.body) != 0 {
			t.Errorf("%s: a body where there should be none: %s", id, a.body)
		}
		return
	}
	if content == nil {
		t.Errorf("%s: answers %d with %q", id, a.status, media)
		return
	}
	switch media {
	case "text/event-stream", "text/csv", "application/x-ndjson", "text/plain", "text/html",
		"application/octet-stream", "application/gzip":
		return
	}
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Errorf("%s: %v", id, err)
		return
	}
	err := content.Schema.Value.VisitJSON(v, openapi3.VisitAsResponse(), openapi3.MultiErrors())
	if err != nil {
		t.Errorf("%s: the answer has not the contract's form: %v", id, err)
	}
}

func unusedRegistry() catalog.RegistryPut {
	return catalog.RegistryPut{Name: "unused", Host: "localhost:5009", Insecure: true}
}

// Anyone who has full access to a project, a person or a program with a token, can use every
// operation about its deployments, streams and the way into services too, and none of an admin's.
func TestAccess_Full(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"full", "robot"} {
		t.Run(who, func(t *testing.T) {
			w := newWorld(t)
			w.shop()
			d := w.deploy("first")
			token := w.fullToken(who)
			all := readOperations(t)
			walk := func(id string) {
				o := all[id]
				if o.access == access.Admin {
					a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
					if a.status != http.StatusForbidden {
						t.Errorf("%s as %s: %d, want 403: %s", id, who, a.status, a.body)
					}
				}
				if !ofDeployments(o.access) {
					return
				}
				w.before(id, d)
				a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body)
				possible := !needsAgent[id] && !needsOwn[id] && id != "answerStep"
				// promise: N-012
				if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden ||
					possible && a.status >= 300 {
					t.Errorf("%s as %s: %d %s", id, who, a.status, a.body)
				}
				// promise: B-38
				if strings.HasPrefix(id, "stream") &&
					!strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
					t.Errorf("%s is no stream: %s", id, a.header.Get("Content-Type"))
				}
			}
			for _, id := range operationNames(all) {
				if !strings.HasPrefix(id, "delete") && !last[id] {
					walk(id)
				}
			}
			// promise: B-38
			w.lines(d, token)
			for _, id := range []string{"retryDeployment", "deleteGuest", "deleteTemplate",
				"deleteDeployment"} {
				walk(id)
			}
		})
	}
}

func ofDeployments(a access.Action) bool {
	switch a {
	case access.ReadDeployment, access.WriteDeployment, access.AnswerDeployment,
		access.CommentDeployment, access.RevealSecret, access.ReadProject:
		return true
	default:
		return false
	}
}

// fullToken is a token with full access to the shop.
func (w *world) fullToken(who string) string {
	w.t.Helper()
	if who != "robot" {
		return w.token(who)
	}
	w.expectSaved(w.accounts.PutTeam(w.t.Context(), system, accounts.TeamPut{Name: "robots",
		Members: []string{"robot"},
		Grants:  []controlplane.TeamGrant{{Project: "shop", Level: controlplane.LevelFull}}}))
	return w.call("POST", "/api/v1/users/robot/tokens", w.token("root"),
		object{"name": "ci"}).field("token")
}

// A service user with full access to one project is a program with a token: it
// may what a person with the same grants may, sees of another project's objects
// nothing at all, and nobody's admin operations are its.
func TestAccess_ServiceTokenOnForeignObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	w.expectSaved(w.catalog.PutProject(t.Context(), system, catalog.ProjectPut{Name: "blog",
		Resources: pipeline.Resources{CPU: 1, MemoryMiB: 64}}))
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "robots",
		Members: []string{"robot"},
		Grants:  []controlplane.TeamGrant{{Project: "blog", Level: controlplane.LevelFull}}}))
	made := w.call("POST", "/api/v1/users/robot/tokens", w.token("root"), object{"name": "ci"})
	token := made.field("token")
	if a := w.call("GET", "/api/v1/projects/blog", token, nil); a.status != http.StatusOK {
		t.Fatalf("its own project: %d %s", a.status, a.body)
	}
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o, want := all[id], 0
		switch o.access {
		case access.Admin:
			want = http.StatusForbidden
		case access.ReadDeployment, access.WriteDeployment, access.AnswerDeployment,
			access.CommentDeployment, access.RevealSecret, access.GiveVerdict:
			want = http.StatusNotFound
		case access.ReadProject:
			if strings.Contains(o.visit.path, "shop") {
				want = http.StatusNotFound
			}
		}
		if want == 0 || strings.HasPrefix(id, "list") {
			continue
		}
		if a := w.call(o.method, fillPath(o.visit.path, d), token, o.visit.body); a.status != want &&
			o.visit.stranger != a.status {
			t.Errorf("%s with a service token: %d, want %d: %s", id, a.status, want, a.body)
		}
	}
	w.expectUnchanged(d)
}
