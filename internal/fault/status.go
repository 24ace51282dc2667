package fault

import (
	"math"
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// kinds is the one table kind → gRPC code and HTTP status. FailedPrecondition alone would come out of the gateway as
// 400, so the HTTP status travels in ErrorDetail.
var kinds = map[Kind]struct {
	code codes.Code
	http int
}{
	Internal:         {codes.Internal, http.StatusInternalServerError},
	Invalid:          {codes.InvalidArgument, http.StatusBadRequest},
	Unauthenticated:  {codes.Unauthenticated, http.StatusUnauthorized},
	Denied:           {codes.PermissionDenied, http.StatusForbidden},
	NotFound:         {codes.NotFound, http.StatusNotFound},
	MethodNotAllowed: {codes.Unimplemented, http.StatusMethodNotAllowed},
	Exists:           {codes.AlreadyExists, http.StatusConflict},
	Conflict:         {codes.FailedPrecondition, http.StatusConflict},
	Gone:             {codes.FailedPrecondition, http.StatusGone},
	TooLarge:         {codes.ResourceExhausted, http.StatusRequestEntityTooLarge},
	Unprocessable:    {codes.InvalidArgument, http.StatusUnprocessableEntity},
	TooMany:          {codes.ResourceExhausted, http.StatusTooManyRequests},
	Canceled:         {codes.Canceled, 499},
	Unavailable:      {codes.Unavailable, http.StatusServiceUnavailable},
	Timeout:          {codes.DeadlineExceeded, http.StatusGatewayTimeout},
}

// HTTP is the status that REST answers with.
func (k Kind) HTTP() int { return kinds[k].http }

// GRPC is the code that gRPC answers with.
func (k Kind) GRPC() codes.Code { return kinds[k].code }

// RetrySeconds is RetryAfter in whole seconds, rounded up, at least 1; 0 when there is none.
func (e *Error) RetrySeconds() int {
	if e.RetryAfter <= 0 {
		return 0
	}
	return int(math.Ceil(e.RetryAfter.Seconds()))
}

// Status turns an error into the gRPC status that callers see: kind, code, message and details, never the cause.
func Status(err error) *status.Status {
	e := From(err)
	st := status.New(e.Kind.GRPC(), e.Message)
	detail := &callwrightv1.ErrorDetail{ErrorCode: e.Code, Status: int32(e.Kind.HTTP())}
	if len(e.Details) > 0 {
		// Details are made by rules from JSON values; one that is not is our defect and must not hide the error.
		detail.Details, _ = structpb.NewStruct(e.Details)
	}
	with, derr := st.WithDetails(detail)
	if derr == nil && e.RetryAfter > 0 {
		with, derr = with.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	if derr != nil {
		return st
	}
	return with
}

// FromStatus is the way back: what Status made comes out equal but for the cause. A status of another origin (a client
// that went away, a deadline, a transport failure) becomes the fault nearest to its code.
func FromStatus(err error) *Error {
	st, _ := status.FromError(err)
	e := &Error{Kind: kindOf(st.Code()), Message: st.Message(), Err: err}
	e.Code = defaultCodes[e.Kind]
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *callwrightv1.ErrorDetail:
			e.Code = d.GetErrorCode()
			e.Details = d.GetDetails().AsMap()
			if len(e.Details) == 0 {
				e.Details = nil
			}
			for k, row := range kinds {
				if row.http == int(d.GetStatus()) && row.code == st.Code() {
					e.Kind = k
				}
			}
			e.Err = nil
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration().Round(time.Millisecond)
		}
	}
	if e.Kind == Internal && e.Err != nil {
		e.Message = "something went wrong on our side"
	}
	return e
}

// defaultCodes are the error codes of statuses that no rule made.
var defaultCodes = map[Kind]string{
	Internal: "internal_error", Invalid: "validation_failed", Unauthenticated: "unauthorized", Denied: "forbidden",
	NotFound: "not_found", MethodNotAllowed: "method_not_allowed", Exists: "already_exists", Conflict: "conflict",
	TooMany: "rate_limited", Canceled: "canceled", Unavailable: "unavailable", Timeout: "deadline_exceeded",
}

func kindOf(c codes.Code) Kind {
	switch c {
	case codes.InvalidArgument, codes.OutOfRange:
		return Invalid
	case codes.Unauthenticated:
		return Unauthenticated
	case codes.PermissionDenied:
		return Denied
	case codes.NotFound:
		return NotFound
	case codes.Unimplemented:
		return MethodNotAllowed
	case codes.AlreadyExists:
		return Exists
	case codes.FailedPrecondition, codes.Aborted:
		return Conflict
	case codes.ResourceExhausted:
		return TooMany
	case codes.Canceled:
		return Canceled
	case codes.Unavailable:
		return Unavailable
	case codes.DeadlineExceeded:
		return Timeout
	default:
		return Internal
	}
}
