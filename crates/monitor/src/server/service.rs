//! The three gRPC calls.
//!
//! Written by hand beside the generated code, for two reasons: a message for many subscribers is
//! encoded once, and the clock is read as late as the encoding of an answer allows.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};

use ipw_core::time::Clock;
use prost::Message;
use prost::bytes::{BufMut as _, Bytes};
use tonic::body::Body;
use tonic::codec::{Codec, EncodeBuf, Encoder};
use tonic::codegen::{BoxFuture, http};
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::{ProstCodec, ProstDecoder};

use super::about::Portrait;
use super::hub::{Hub, Subscription, monotonic};
use crate::{Token, pb};

/// Maximum size of a request: all of ours are nearly empty.
const LARGEST_IN: usize = 64 * 1024;
/// Maximum size of a response: the default limit of gRPC clients.
const LARGEST_OUT: usize = 4 * 1024 * 1024;

/// Handles calls; clones share everything.
#[derive(Clone)]
pub(super) struct Service(Arc<Shared>);

struct Shared {
    hub: Arc<Hub>,
    clock: Arc<dyn Clock>,
    portrait: Portrait,
    token: Option<Token>,
}

impl Service {
    pub(super) fn new(
        hub: Arc<Hub>,
        clock: Arc<dyn Clock>,
        portrait: Portrait,
        token: Option<Token>,
    ) -> Self {
        Self(Arc::new(Shared {
            hub,
            clock,
            portrait,
            token,
        }))
    }
}

impl tonic::codegen::Service<http::Request<Body>> for Service {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let received = monotonic(&*self.0.clock, self.0.clock.now());
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            if let Err(refusal) = shared.admit(&request) {
                return Ok(refusal.into_http());
            }
            Ok(match request.uri().path() {
                "/energy.EnergyMonitor/Health" => shared.health(request).await,
                "/energy.EnergyMonitor/StreamTelemetry" => shared.stream(request).await,
                "/energy.EnergyMonitor/Time" => shared.time(request, received).await,
                _ => Status::unimplemented("the monitor has no such call").into_http(),
            })
        })
    }
}

impl Shared {
    /// Checks the caller's token.
    fn admit(&self, request: &http::Request<Body>) -> Result<(), Status> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        match request.headers().get(http::header::AUTHORIZATION) {
            Some(shown) if token.allows(shown.as_bytes()) => Ok(()),
            Some(_) => Err(Status::unauthenticated(
                "wrong token: send the first line of the monitor's token file as `authorization: Bearer \
                 TOKEN`",
            )),
            None => Err(Status::unauthenticated(
                "the monitor requires a token: send the first line of its token file as \
                 `authorization: Bearer TOKEN`",
            )),
        }
    }

    async fn health(&self, request: http::Request<Body>) -> http::Response<Body> {
        let answer = |_: pb::HealthRequest| Ok(self.portrait.health.clone());
        let mut grpc = bounded(ProstCodec::default());
        grpc.unary(UnaryCall(answer), request).await
    }

    async fn stream(&self, request: http::Request<Body>) -> http::Response<Body> {
        let answer = |asked: pb::StreamRequest| self.hub.subscribe(asked.with_readings);
        let mut grpc = bounded(EncoderCodec::by(BytesEncoder));
        grpc.server_streaming(StreamCall(answer), request).await
    }

    async fn time(&self, request: http::Request<Body>, received: i64) -> http::Response<Body> {
        let answer = |_: pb::TimeRequest| {
            Ok(pb::TimeResponse {
                received_nanos: received,
                instance: self.hub.instance(),
                ..pb::TimeResponse::default()
            })
        };
        let stamp = TimeEncoder(Arc::clone(&self.clock));
        let mut grpc = bounded(EncoderCodec::by(stamp));
        grpc.unary(UnaryCall(answer), request).await
    }
}

fn bounded<T: Codec>(codec: T) -> Grpc<T> {
    Grpc::new(codec)
        .max_decoding_message_size(LARGEST_IN)
        .max_encoding_message_size(LARGEST_OUT)
}

/// A call with one response.
struct UnaryCall<F>(F);

impl<Q, A, F: FnMut(Q) -> Result<A, Status>> UnaryService<Q> for UnaryCall<F> {
    type Response = A;
    type Future = Ready<Result<Response<A>, Status>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        ready((self.0)(request.into_inner()).map(Response::new))
    }
}

/// A call with a stream of responses.
struct StreamCall<F>(F);

impl<Q, F> ServerStreamingService<Q> for StreamCall<F>
where
    F: FnMut(Q) -> Result<Subscription, Status>,
{
    type Response = Bytes;
    type ResponseStream = Subscription;
    type Future = Ready<Result<Response<Subscription>, Status>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        ready((self.0)(request.into_inner()).map(Response::new))
    }
}

/// A codec with prost's decoder for requests `Q` and our own encoder for responses.
struct EncoderCodec<E, Q> {
    encoder: E,
    question: PhantomData<Q>,
}

impl<E, Q> EncoderCodec<E, Q> {
    const fn by(encoder: E) -> Self {
        Self {
            encoder,
            question: PhantomData,
        }
    }
}

impl<E, Q> Codec for EncoderCodec<E, Q>
where
    E: Encoder<Error = Status> + Clone + Send + 'static,
    E::Item: Send + 'static,
    Q: Message + Default + 'static,
{
    type Encode = E::Item;
    type Decode = Q;
    type Encoder = E;
    type Decoder = ProstDecoder<Q>;

    fn encoder(&mut self) -> E {
        self.encoder.clone()
    }

    fn decoder(&mut self) -> ProstDecoder<Q> {
        ProstDecoder::default()
    }
}

/// Encodes messages that are already bytes.
#[derive(Clone, Copy)]
struct BytesEncoder;

impl Encoder for BytesEncoder {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

/// Encodes responses to `Time`; their last timestamps are taken while writing.
#[derive(Clone)]
struct TimeEncoder(Arc<dyn Clock>);

impl Encoder for TimeEncoder {
    type Item = pb::TimeResponse;
    type Error = Status;

    fn encode(
        &mut self,
        mut answer: pb::TimeResponse,
        buffer: &mut EncodeBuf<'_>,
    ) -> Result<(), Status> {
        answer.unix_nanos = i64::try_from(self.0.unix_nanos()).unwrap_or(i64::MAX);
        answer.replied_nanos = monotonic(&*self.0, self.0.now());
        let written = answer.encode(buffer);
        written.map_err(|error| Status::internal(error.to_string()))
    }
}
