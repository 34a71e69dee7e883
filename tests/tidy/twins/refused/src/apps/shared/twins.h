#pragma once

struct SharedTwin {};
