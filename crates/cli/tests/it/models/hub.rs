//! A hub that has one file under every path. It ends with the test's process.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Whether the length is announced; else the connection's end is the file's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Announced,
    Hidden,
}

/// The address of a hub over plain http.
pub(crate) fn plain(content: Vec<u8>, length: Length) -> String {
    let port = listen(move |mut stream| serve(&mut stream, &content, length));
    format!("http://127.0.0.1:{port}")
}

/// The address of a hub over https, and its certificate.
pub(crate) fn encrypted(content: Vec<u8>) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let port = listen(move |stream| {
        let connection =
            ServerConnection::new(Arc::clone(&config)).map_err(std::io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        serve(&mut stream, &content, Length::Announced)?;
        stream.conn.send_close_notify();
        stream.flush()
    });
    (format!("https://localhost:{port}"), made.cert.pem())
}

fn listen(answer: impl Fn(TcpStream) -> std::io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away early is its own affair.
            let _ = answer(stream);
        }
    });
    port
}

fn serve(stream: &mut (impl Read + Write), content: &[u8], length: Length) -> std::io::Result<()> {
    for line in BufReader::new(&mut *stream).lines() {
        if line?.is_empty() {
            break;
        }
    }
    write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n")?;
    if length == Length::Announced {
        write!(stream, "Content-Length: {}\r\n", content.len())?;
    }
    stream.write_all(b"\r\n")?;
    stream.write_all(content)
}
