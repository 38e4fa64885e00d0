# Build: everything pinned goes into one virtual environment.
FROM python:3.11-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /venv
# requirements-postgres.txt for a PostgreSQL database: `docker build --build-arg REQUIREMENTS=requirements-postgres.txt .`
# requirements-sqlcipher.txt for an encrypted file. With OpenTelemetry, too: REQUIREMENTS="requirements-postgres.txt -r requirements-otel.txt"
ARG REQUIREMENTS=requirements.txt
COPY requirements.txt requirements-otel.txt requirements-postgres.txt requirements-sqlcipher.txt ./
RUN /venv/bin/python -m pip install --quiet --require-hashes -r ${REQUIREMENTS}

# Run: the environment and the application, no compiler, no root.
FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 DATABASE_URL=sqlite:////data/dialogs.db
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin dialogs \
    && install --directory --owner=dialogs --group=dialogs --mode=0700 /data
COPY --from=build /venv /venv
# Always started from here: another distribution, too, imports as `agents`.
WORKDIR /app
COPY prompts prompts
COPY agents agents
COPY dialogs dialogs
COPY observers observers
COPY app app
# An image with a broken dialog, prompt or observer is not built.
RUN python -m compileall -q . && LLM_MODEL=local:rules python -m app check > /dev/null
USER dialogs
VOLUME /data
CMD ["python", "-m", "app", "telegram"]
