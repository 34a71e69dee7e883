// What of Boost.Asio and Beast is not a template, compiled here for all of the program.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
