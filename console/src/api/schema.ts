// Made from docs/openapi.json by `npm run types`. Do not edit.

export interface paths {
    "/api/v1/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists apps. */
        get: operations["list_apps"];
        put?: never;
        /** Creates an app and shows its secret this once. */
        post: operations["create_app"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apps/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Deletes an app: it can no longer call. */
        delete: operations["delete_app"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apps/{code}/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives an app a role. It counts from its next request on. */
        post: operations["grant_to_app"];
        /** Takes roles of an app back: those named, or these places of them, or all. */
        delete: operations["revoke_from_app"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the audit trail, the newest first. */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Writes all of the audit trail that matches, the newest first, as it is read. */
        get: operations["export_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the businesses that the caller may see. */
        get: operations["list_businesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Renders a template, or any text, for one instance. Nothing is stored. */
        post: operations["preview_template"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/processes/{process}/config-files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the config files of a process, by instance and template. */
        get: operations["list_config_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/processes/{process}/config-files/{local_inst_id}/{template}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a config file with its text. */
        get: operations["show_config_file"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/processes/{process}/variables": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the variables that templates of an instance may use. */
        get: operations["list_variables"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reads a business anew from its CMDB; one that was given is as it was given. */
        post: operations["refresh_business"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the config templates of a business. */
        get: operations["list_templates"];
        put?: never;
        /** Makes a config template. */
        post: operations["create_template"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates/{template}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a config template. */
        get: operations["show_template"];
        /** Replaces the fields of a config template; its versions and bindings stay. */
        put: operations["update_template"];
        post?: never;
        /** Forgets a config template with its versions. Files that it made stay on their hosts. */
        delete: operations["delete_template"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates/{template}/bindings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Says what a config template makes files for; what was bound before and is not named any more is not. */
        put: operations["bind_template"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates/{template}/draft": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Writes the draft of a config template, which is made if there is none. A text that is no template is refused with its line. */
        put: operations["save_draft"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates/{template}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the versions of a config template, the newest first. */
        get: operations["list_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates/{template}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a version with its text. */
        get: operations["show_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates/{template}/versions/{version}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a version the one that is generated from; the one before becomes past. It is rendered for every instance that the
         *     template is bound to, and refused where that fails.
         */
        post: operations["activate_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/templates/{template}/versions/{version}/clone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copies a version into the draft of its config template. */
        post: operations["clone_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/topology": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a business as the document that would make it. */
        get: operations["show_topology"];
        /** Makes a business what the document says; the same again changes nothing. Wrong rows are named and left out. */
        put: operations["import_topology"];
        post?: never;
        /** Removes a business from the view. What still runs of it goes on, and is no longer shown there. */
        delete: operations["remove_topology"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/businesses/{id}/tree": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the sets and modules of a business, with how many processes each has and how many of them run. */
        get: operations["show_tree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks the agents of the replica that answers to go to other replicas; it takes no new ones. */
        post: operations["drain"];
        /** Lets the replica that answers take agents again. */
        delete: operations["stop_draining"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists events, the newest first. They are kept for 30 days. */
        get: operations["list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts events by time, and by kind, process or host: only the values with most events. */
        get: operations["count_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/expression/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Explains an expression: each part in words, how many processes it leaves, and the first that are selected. */
        post: operations["explain_expression"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/figures/states": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows how many processes were in each state over the last day, of what the caller may see. */
        get: operations["state_figures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{namespace}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the groups of a namespace on hosts. */
        get: operations["list_groups"];
        /** Sets the groups of a namespace on hosts. */
        put: operations["set_groups"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists hosts, with the exact number of all that match. */
        get: operations["list_hosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts/{host}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows one host. */
        get: operations["show_host"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts/{host}/agent_id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Gives a host the id that GSE 2.0 callers will name it by. */
        put: operations["set_agent_id"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts/{host}/held": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Asks a host's agent what it holds, and compares it with what is wanted. */
        get: operations["held_on_host"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts/{host}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Refuses all certificates that this host has got until now. Its agent has to join again, with a token. */
        post: operations["revoke_host"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists jobs, the newest first. They are kept for 30 days. */
        get: operations["list_jobs"];
        put?: never;
        /** Begins a job: one task for each process that is selected. With `dry_run` it only tells what the job would act on. */
        post: operations["create_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a job; with `wait` once it is over or more than `ended` of its tasks have ended, or when that time is over. */
        get: operations["show_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels a job: nothing more begins, and what is under way ends by itself. */
        post: operations["cancel_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Groups the failures of a job by code and reason. */
        get: operations["list_job_failures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the hosts of a job, one address a line. */
        get: operations["list_job_hosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pauses a job: nothing more begins until it is resumed, and what is under way ends by itself. */
        post: operations["pause_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Goes on with a paused job. */
        post: operations["resume_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins failed tasks of a job again, with the topology as it is now. */
        post: operations["retry_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Logs a user in. The token is also set as the cookie `muster_session`, with TLS as `__Host-muster_session`. */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login/code": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a code that logs a user in once, within 15 minutes: for a link to the console. A user makes one for themselves, an
         *     administrator for anyone.
         */
        post: operations["create_login_code"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the login that the request carries. */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the caller's logins, the newest first. */
        get: operations["list_logins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me/logins/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Ends one of the caller's logins, which may be the one that the request is made with. */
        delete: operations["end_login"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Changes the caller's password. All other logins of the user end. */
        post: operations["change_password"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/names": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists names of processes and namespaces that begin with a text, for completion. */
        get: operations["list_names"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Operates on several processes in one task: as listed, or on everything that matches a filter. A dry run tells what would be
         *     done, and changes nothing.
         */
        post: operations["operate_processes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists processes, with the exact number of all that match. */
        get: operations["list_processes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/facets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts processes by the values of some dimensions, for any filter. */
        get: operations["count_processes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/view": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists processes of a business, with the exact number of all that match. */
        get: operations["list_view"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/view/facets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts processes of a business by the values of some dimensions, for any filter. */
        get: operations["count_view"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/{namespace}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows one process: every spec that is registered for it, and every host. */
        get: operations["show_process"];
        /** Registers a process on hosts, or replaces its spec there. */
        put: operations["update_process"];
        /** Registers a process on hosts. The same again is fine; a different spec is refused with 850 for that host. */
        post: operations["register_process"];
        /** Forgets a process on hosts, or on all with `?all=true`. It goes on running. */
        delete: operations["unregister_process"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/{namespace}/{name}/figures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows cpu, memory and descriptors of a process over the last hour. Its agent keeps them, so it must be connected; they begin
         *     anew when the agent does.
         */
        get: operations["process_figures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/{namespace}/{name}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the last lines that a process wrote, and with `follow` what it writes from then on. */
        get: operations["process_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/{namespace}/{name}/operate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Starts, stops or otherwise operates on a process. Ask for the task to learn how it went. */
        post: operations["operate_process"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes/{namespace}/{name}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says why a process on a host is as it is: since when, what was tried, who stopped it, and the last output of the run that
         *     ended.
         */
        get: operations["why"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/replicas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the replicas as the one that answers sees them. */
        get: operations["list_replicas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Finds processes, namespaces, hosts, businesses and config templates by words. */
        get: operations["search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts processes by state, and what needs attention, of what the caller may see. */
        get: operations["summary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists tasks, the newest first. */
        get: operations["list_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a task; with `wait` once it has ended, or when that time is over. */
        get: operations["show_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Groups the failures of a task by code and reason. */
        get: operations["list_task_failures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the hosts of a task, one address a line. */
        get: operations["list_task_hosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Operates on the failed targets of a task again, in a new task. */
        post: operations["retry_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what happened, the newest first: events, operations and who asked for them, agents that came and went, specs, config
         *     files, health. Kept for 30 days.
         */
        get: operations["timeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists join tokens. */
        get: operations["list_tokens"];
        put?: never;
        /** Creates a join token and shows it this once. */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Deletes a join token; agents that used it stay enrolled. */
        delete: operations["delete_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists users. */
        get: operations["list_users"];
        put?: never;
        /** Creates a user. */
        post: operations["create_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Deletes a user; its logins end. */
        delete: operations["delete_user"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives a user a role. It counts from their next request on. */
        post: operations["grant_to_user"];
        /** Takes roles of a user back: those named, or these places of them, or all. */
        delete: operations["revoke_from_user"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/watch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams what happens. A watcher that is too slow misses some and is sent a `lagged` event.
         * @description Each event has an id. A watcher that connects again with the last one, in the header `Last-Event-ID` or in `since`, gets
         *     what happened in between. Where that is not known any more, or another replica answers, `lagged` with `missed: null`
         *     comes first: read again what you show.
         */
        get: operations["watch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists webhooks, with how deliveries go. */
        get: operations["list_webhooks"];
        put?: never;
        /** Creates a webhook, which is told of every event from now on, and shows its secret this once. */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Deletes a webhook: it is told nothing more. */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a signed event of kind `test` now, once, and says how that went. */
        post: operations["test_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows who the caller is: its app and its user, the roles of each, and when the login ends. Needs no role. */
        get: operations["whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AgentIdBody: {
            /** @description At most 64 letters, digits, '-', '_' and '.'. */
            agent_id: string | null;
        };
        AppBody: {
            code: string | null;
            /**
             * @description What it may do. If not given, it is an operator of `namespaces`, or of everything; and an admin if it is also
             *     trusted.
             */
            grants?: components["schemas"]["GrantBody"][] | null;
            /** @description Namespaces that it operates; not together with `grants`. */
            namespaces?: string[] | null;
            /**
             * Format: int64
             * @description Requests per second; 0 for no limit.
             */
            rate_limit?: number | null;
            /** @description Made by the server if not given. */
            secret?: string | null;
            /** @description May name its user with `bk_username` instead of a login. */
            trusted?: boolean | null;
        };
        AppList: {
            apps: components["schemas"]["AppRow"][];
        };
        AppRow: {
            /** @description May manage apps, users, tokens, webhooks and hosts. */
            admin: boolean;
            code: string;
            /** Format: int64 */
            created_at: number;
            /** @description What it may do. */
            grants: components["schemas"]["GrantRow"][];
            /** @description Namespaces that it may see; null for all. */
            namespaces?: string[] | null;
            /**
             * Format: int32
             * @description Requests per second; 0 for no limit.
             */
            rate_limit: number;
            /** @description May name its user instead of a login. */
            trusted: boolean;
        };
        AuditList: {
            audit: components["schemas"]["AuditRow"][];
            /**
             * Format: int64
             * @description `before` of the next page; null at the end.
             */
            next?: number | null;
        };
        AuditRow: {
            /** @description `register`, `operate`, `app.create`, … */
            action: string;
            app: string;
            /** Format: int64 */
            at: number;
            detail: string;
            from: string;
            /** Format: int64 */
            id: number;
            object: string;
            request_id: string;
            user: string;
        };
        /** @description A batch of a job. Isolation units have batches of their own: this is that of the unit with the most. */
        BatchView: {
            /**
             * Format: int32
             * @description From 1; 0 before the first begins.
             */
            number: number;
            /**
             * Format: int32
             * @description How many there are.
             */
            of: number;
        };
        /** @description What a template makes files for. */
        Bindings: {
            /**
             * @description Ids of process templates: every process that was made from one.
             * @default []
             */
            process_templates: number[];
            /**
             * @description Ids of processes.
             * @default []
             */
            processes: number[];
        };
        /** @description Processes where the operation is blocked for one reason, as in `blocked` of the list of processes. */
        BlockedGroup: {
            /** Format: int64 */
            count: number;
            /** @description The first three, `cloud:ip`. */
            hosts: string[];
            reason: string;
        };
        /** @description A business as people write it down. Ids may be left out: then a thing is known again by its name. Unknown keys are refused. */
        BusinessDocument: {
            bk_biz_id: number;
            bk_biz_name?: string;
            /** @description Names of cloud areas by id */
            clouds?: Record<string, never>;
            /** @description What is to be said of hosts beside their address */
            hosts?: {
                /** @description For templates */
                attributes?: Record<string, never>;
                bk_agent_id?: string;
                bk_host_id?: number;
                bk_host_innerip_v6?: string;
                /** @description IP or CLOUD:IP */
                host: string;
                /** @description Further addresses by which the host is found */
                other_innerips?: string[];
            }[];
            sets?: {
                /** @description For templates */
                attributes?: Record<string, never>;
                /** @description 1 test, 2 experience, 3 formal; 3 if not given */
                bk_set_env?: number;
                bk_set_id?: number;
                bk_set_name: string;
                modules?: {
                    /** @description For templates */
                    attributes?: Record<string, never>;
                    bk_module_id?: number;
                    bk_module_name: string;
                    /** @description IP or CLOUD:IP; each runs all of processes */
                    hosts?: string[];
                    processes?: components["schemas"]["ProcessDocument"][];
                    /** @description What differs from host to host */
                    service_instances?: {
                        host: string;
                        /** @description Else IP_MODULE */
                        name?: string;
                        /** @description Beside those of the module */
                        processes?: components["schemas"]["ProcessDocument"][];
                        service_instance_id?: number;
                    }[];
                    service_template_id?: number;
                }[];
            }[];
            /** @description global_variables of its templates */
            variables?: Record<string, never>;
        };
        BusinessList: {
            businesses: components["schemas"]["BusinessView"][];
        };
        /** @description The sets and modules of a business. */
        BusinessTree: {
            sets: components["schemas"]["TreeSet"][];
        };
        BusinessView: {
            /** Format: int32 */
            id: number;
            modules: number;
            name: string;
            /** @description `given` by a file or this API, or read from a `cmdb`. */
            origin: string;
            /** Format: int64 */
            processes: number;
            /**
             * Format: int64
             * @description When it was last compared with its source.
             */
            refreshed_at: number;
            sets: number;
            /** @description Rows that were left out then, and why. */
            troubles: Record<string, never>[];
        };
        CommandCount: {
            command: string;
            /** Format: int64 */
            count: number;
        };
        ComparedProcess: {
            /** @description Each difference in words; none when all is as wanted. */
            differs: string[];
            held?: components["schemas"]["HeldProcessView"] | null;
            /** @description `namespace/name` */
            process: string;
            wanted: components["schemas"]["WantedView"];
        };
        ConfigFileList: {
            files: components["schemas"]["ConfigFileShown"][];
        };
        ConfigFileShown: {
            generated?: components["schemas"]["FileShown"] | null;
            /** Format: int32 */
            local_inst_id: number;
            /** Format: int32 */
            process: number;
            released?: components["schemas"]["FileShown"] | null;
            /** Format: int32 */
            template: number;
        };
        Counts: {
            ended: number;
            failed: number;
            ok: number;
            running: number;
            total: number;
        };
        /** @description Shown this once. */
        CreatedApp: {
            code: string;
            secret: string;
        };
        /** @description The token is shown this once. */
        CreatedToken: {
            /** Format: int64 */
            expires_at: number;
            id: string;
            token: string;
        };
        CreatedUser: {
            name: string;
        };
        /** @description The secret is shown this once. */
        CreatedWebhook: {
            id: string;
            secret: string;
            url: string;
        };
        /** @description A spec with its labels, and how many hosts use it. */
        DefinitionView: {
            /** Format: int32 */
            hosts: number;
            /**
             * Format: int32
             * @description By which the rows of processes name it. A changed definition has another id.
             */
            id: number;
            labels: {
                [key: string]: string;
            };
            spec: components["schemas"]["Spec"];
        };
        /** @description What changed of a business. */
        Difference: {
            hosts?: {
                changed?: number;
                gone?: number;
                new?: number;
            };
            instances?: {
                changed?: number;
                gone?: number;
                new?: number;
            };
            /** @description + new, ~ changed, - gone, ! still running; at most 1000 */
            lines?: string[];
            modules?: {
                changed?: number;
                gone?: number;
                new?: number;
            };
            /** @description Lines that were too many */
            more_lines?: number;
            processes?: {
                changed?: number;
                gone?: number;
                new?: number;
            };
            services?: {
                changed?: number;
                gone?: number;
                new?: number;
            };
            sets?: {
                changed?: number;
                gone?: number;
                new?: number;
            };
            /** @description Rows that were left out, and why */
            troubles?: {
                reason?: string;
                row?: string;
            }[];
            /** @description Gone from the source, and still running */
            vanished?: number;
        };
        DraftBody: {
            /** @description The text, in Mako. */
            content: string | null;
            description?: string;
        };
        Draining: {
            /** @description How many agents are still connected to it. */
            agents: number;
            /** @description Whether it asks its agents to go elsewhere. */
            draining: boolean;
        };
        /** @description A refused request. */
        ErrorBody: {
            error: components["schemas"]["ErrorDetail"];
        };
        ErrorDetail: {
            /** @description In an expression, the character that is wrong, counted from 1. */
            character?: number | null;
            /**
             * @description What kind of refusal: `invalid`, `unauthenticated`, `forbidden`, `not_found`, `wrong_method`, `conflict`,
             *     `count_changed`, `too_large`, `not_json`, `declined` (by the host), `too_slow`, `too_fast`, `busy`, `away` (the agent that would have
             *     to answer), `unavailable` or `internal`.
             */
            code: string;
            /**
             * Format: int64
             * @description Where the refusal is `count_changed`: how many processes match now.
             */
            count?: number | null;
            /** @description The field that breaks a rule, where one does. */
            field?: string | null;
            /**
             * Format: int32
             * @description In a template, the line that is wrong, counted from 1.
             */
            line?: number | null;
            /** @description What is wrong, in words. */
            message: string;
            missing_role?: components["schemas"]["MissingRoleDetail"] | null;
        };
        /** @description The events of one bucket of time. */
        EventBucket: {
            /**
             * Format: int64
             * @description Its begin.
             */
            at: number;
            counts: {
                [key: string]: number;
            };
        };
        /** @description How many events happened, by time. */
        EventCounts: {
            /** Format: int64 */
            bucket_secs: number;
            /** @description Buckets with events, by time. */
            buckets: components["schemas"]["EventBucket"][];
            /** @description The values with most events, which are also those of the buckets. */
            top: components["schemas"]["ValueCount"][];
        };
        EventList: {
            events: components["schemas"]["EventRow"][];
            /**
             * Format: int64
             * @description `before` of the next page; null at the end.
             */
            next?: number | null;
        };
        /** @description An event as lists, streams and webhooks show it. */
        EventRow: {
            /** Format: int64 */
            at: number;
            /**
             * Format: int32
             * @description Null unless a run ended with a code.
             */
            exit_code?: number | null;
            /**
             * Format: int32
             * @description Null unless a run was ended by a signal.
             */
            exit_signal?: number | null;
            host: string;
            /**
             * Format: int64
             * @description Rises in the order in which the server got them; the live stream has none.
             */
            id?: number | null;
            /** @description `process_exit`, `process_restart_success`, … */
            kind: string;
            /** @description `namespace/name` */
            process: string;
            /** @description A sentence for people. */
            reason: string;
            /**
             * Format: int64
             * @description `warn_report_policy.report_id` of the process; 0 for none.
             */
            report_id: number;
        };
        ExplainBody: {
            /** Format: int32 */
            business: number;
            /** @description test, experience or formal; all if not given. */
            env?: string | null;
            expression: components["schemas"]["Expression"];
        };
        Explained: {
            /**
             * Format: int64
             * @description How many processes it selects.
             */
            count: number;
            /** @description The joined form. */
            expression: string;
            /** @description The first of them, by id. */
            matches: components["schemas"]["Match"][];
            parts: components["schemas"]["PartExplained"][];
        };
        /** @description set.module.service.process.id as one text, or an object of these parts; what is left out is * */
        Expression: string | {
            id?: number | string | null;
            module?: number | string | null;
            process?: number | string | null;
            service?: number | string | null;
            set?: number | string | null;
        };
        /** @description How many processes match, and how many of them have each value. */
        FacetList: {
            /**
             * Format: int64
             * @description By the whole filter.
             */
            count: number;
            /** @description In the order of `by`. */
            facets: components["schemas"]["FacetView"][];
        };
        FacetValueView: {
            /** Format: int64 */
            count: number;
            /** @description The name of a business, set, module, service instance or cloud area. */
            name?: string | null;
            /** @description As the filter takes it. */
            value: string;
        };
        /** @description The values of one dimension, the most frequent first. It is not narrowed by its own part of the filter. */
        FacetView: {
            by: string;
            /** @description How many values were left off. */
            more: number;
            values: components["schemas"]["FacetValueView"][];
        };
        /** @description Failures with one code and alike reasons. */
        FailureGroupView: {
            /** Format: int32 */
            code: number;
            count: number;
            /** @description The first three hosts. */
            hosts: string[];
            /**
             * @description What all its reasons share, with … for numbers, addresses and paths in which they differ. `reason` of lists and
             *     retries takes this text.
             */
            reason: string;
        };
        /** @description The failures of a task or a job, in groups. Each failure is in one. */
        FailureGroups: {
            /** @description The largest first. */
            groups: components["schemas"]["FailureGroupView"][];
        };
        FileShown: {
            /** Format: int64 */
            at: number;
            by: string;
            /** @description Its text; lists leave it out. */
            content?: string | null;
            md5: string;
            /** @description The whole path on the host. */
            path: string;
            /** Format: int32 */
            version: number;
        };
        /** @description The fleet in a few numbers. */
        FleetSummary: {
            agents_up: number;
            /**
             * Format: int64
             * @description With a config file that differs from what was released.
             */
            config_drift: number;
            /**
             * Format: int64
             * @description In state failed: the agent does not start them any more.
             */
            gave_up: number;
            /** @description All hosts, whatever namespaces are asked for. */
            hosts: number;
            jobs_running: number;
            /** Format: int64 */
            processes: number;
            /**
             * Format: int64
             * @description Their run began with an older spec.
             */
            restart_needed: number;
            /** @description How many are in each state; every state is there. */
            states: {
                [key: string]: number;
            };
            /** @description Tasks that have not ended, of which the caller may see every process. */
            tasks_running: number;
            /** Format: int64 */
            unhealthy: number;
            /**
             * Format: int64
             * @description Wanted running, and in backoff, failed, stopped or unknown, although the agent is connected.
             */
            wanted_down: number;
        };
        ForeignView: {
            /** Format: int32 */
            pid: number;
            pid_path: string;
            /** @description Whose pid file it is. */
            process: string;
            /** @description Who is there instead. */
            program: string;
            user: string;
        };
        FoundBusiness: {
            /** Format: int32 */
            id: number;
            name: string;
        };
        FoundHost: {
            /** @description `cloud:ip` */
            host: string;
            hostname?: string | null;
        };
        FoundTemplate: {
            /** Format: int32 */
            business: number;
            /** Format: int32 */
            id: number;
            name: string;
        };
        /** @description Names neither namespaces nor businesses: everything. */
        GrantBody: {
            businesses?: number[] | null;
            namespaces?: string[] | null;
            /** @description `viewer`, `operator` or `admin`; an admin is one of everything. */
            role: string | null;
        };
        GrantList: {
            grants: components["schemas"]["GrantRow"][];
        };
        /** @description A role, and where it counts. */
        GrantRow: {
            businesses: number[];
            /** @description Whether it counts everywhere; then nothing is named. */
            everything: boolean;
            namespaces: string[];
            /** @description `viewer`, `operator` or `admin`. */
            role: string;
        };
        GroupList: {
            groups: components["schemas"]["HostGroups"][];
        };
        GroupsBody: {
            hosts: components["schemas"]["HostRef"][];
            /** @description Replaces all groups of the namespace on these hosts; none removes them. */
            process_group: components["schemas"]["ProcessGroup"][];
        };
        /** @description The result of a health check. */
        HealthView: {
            /** Format: int64 */
            checked_at: number;
            /** @description Why it failed. */
            message: string;
            /** @description False from the first failure on; the process is `unhealthy` after three in a row. */
            ok: boolean;
        };
        /** @description One host as its agent says it is. */
        HeldAnswer: {
            /** @description Live processes that pid files name and that are not the processes which the files belong to. */
            foreign: components["schemas"]["ForeignView"][];
            /** @description `cloud:ip` */
            host: string;
            processes: components["schemas"]["ComparedProcess"][];
        };
        /** @description What the agent holds. */
        HeldProcessView: {
            definition: string;
            flag: string;
            /** Format: int64 */
            incarnation: number;
            managed: boolean;
            /** @description Operations under way, as `task#ordinal`. */
            operations: string[];
            /** @description What is going on with it, in words. */
            phase: string;
            run?: components["schemas"]["RunView"] | null;
        };
        HostGroups: {
            /** @description `cloud:ip` */
            host: string;
            process_group: components["schemas"]["ProcessGroup"][];
        };
        HostPage: {
            count: number;
            hosts: components["schemas"]["HostRow"][];
            /** Format: int64 */
            start: number;
        };
        /** @description CLOUD:IP, or an IP in cloud area 0, or an object with ip and cloud_id, or with agent_id */
        HostRef: string | {
            /** @description 0 if not given */
            cloud_id?: number | string | null;
            ip: string;
        } | {
            agent_id: string;
        };
        HostResult: {
            /** @description Whether anything is different now: false where it was so already. */
            changed: boolean;
            /**
             * Format: int32
             * @description 0, or why not: 850 registered differently already, 117 no such agent, 1000400 not a host.
             */
            code: number;
            /** @description `cloud:ip`, or what the caller wrote where that names no host. */
            host: string;
            message: string;
        };
        /** @description One machine, and the agent on it. */
        HostRow: {
            agent_id?: string | null;
            connected: boolean;
            /** Format: int32 */
            cores?: number | null;
            /**
             * Format: int64
             * @description When its agent got its certificate; 0 for a host that was only named.
             */
            enrolled_at: number;
            /** @description `cloud:ip` */
            host: string;
            hostname?: string | null;
            kernel?: string | null;
            /** Format: int64 */
            memory_kib?: number | null;
            /**
             * Format: int32
             * @description How many processes are registered on it.
             */
            processes: number;
            /** @description Whether the agent runs as root. */
            root?: boolean | null;
            /**
             * Format: int64
             * @description Since when it is connected, or gone; 0 if it never was.
             */
            since: number;
            /** @description How many of those that the caller may see are in each state; states without one are left out. */
            states: {
                [key: string]: number;
            };
            version?: string | null;
        };
        HostsBody: {
            hosts?: components["schemas"]["HostRef"][] | null;
        };
        /** @description A registered process that belongs to one of the view. */
        InstanceView: {
            /** @description Whether its host's agent is connected. */
            connected: boolean;
            /**
             * Format: double
             * @description Percent of the whole machine.
             */
            cpu: number;
            /** Format: int64 */
            inst_id: number;
            /** Format: int32 */
            local_inst_id: number;
            managed: boolean;
            /** Format: double */
            mem: number;
            /** @description Why it is as it is. */
            message: string;
            /**
             * Format: int32
             * @description Null when there is none.
             */
            pid?: number | null;
            /** @description `namespace/name` */
            process: string;
            /** Format: int64 */
            reported_at: number;
            /** @description Whether its run began with an older spec, whose changes take effect only at the next start. */
            restart_needed: boolean;
            /**
             * Format: int64
             * @description Times are milliseconds since 1970, 0 for never.
             */
            started_at: number;
            /** @description As in the list of processes. */
            state: string;
            /** @description `running`, `stopped` or `unregistered`. */
            status: string;
            /** @description What is wanted: `running` or `stopped`. */
            wanted: string;
            /** @description The last known state while the agent is away, else null. */
            was?: string | null;
        };
        JobBegun: {
            /** Format: int32 */
            id: number;
            /** @description How many tasks it has. */
            targets: number;
        };
        JobBody: {
            /**
             * @description start, stop, restart, reload, force_stop, set_auto or unset_auto; or, of a business, generate, release or diff of
             *     config files.
             */
            action: string;
            /**
             * Format: int32
             * @description Its id. Without one the job is over registered processes, which `filter` selects.
             */
            business?: number | null;
            /** @description Only tells what the job would act on. */
            dry_run?: boolean | null;
            /** @description test, experience or formal; all if not given. */
            env?: string | null;
            /** @description Selected processes that the job leaves out: ids, or without a business NAMESPACE/NAME@CLOUD:IP. */
            except?: Record<string, never>[] | null;
            /**
             * Format: int64
             * @description How many tasks the job must have. With another number nothing happens, and the refusal says the number.
             */
            expect_count?: number | null;
            expression?: components["schemas"]["Expression"] | null;
            /**
             * @description In place of `scope` and `expression`: the parameters of the process view, or without a business those of the list of
             *     processes. A value is a text, a number, a boolean or a list of them.
             */
            filter?: Record<string, never> | null;
            options?: components["schemas"]["JobOptionsBody"] | null;
            scope?: components["schemas"]["ScopeBody"] | null;
        };
        /** @description How many tasks there are, and how many of them in each status. */
        JobCountsView: {
            /** Format: int32 */
            ended: number;
            /** Format: int32 */
            failed: number;
            /** Format: int32 */
            ignored: number;
            /** Format: int32 */
            pending: number;
            /** Format: int32 */
            running: number;
            /** Format: int32 */
            succeeded: number;
            /** Format: int32 */
            total: number;
        };
        JobCreated: {
            /** Format: int32 */
            id: number;
        };
        /** @description A job with part of its tasks. */
        JobDetail: components["schemas"]["JobView"] & {
            /** @description How many tasks match. */
            count: number;
            /** Format: int64 */
            start: number;
            tasks: components["schemas"]["JobTaskView"][];
        };
        JobList: {
            jobs: components["schemas"]["JobView"][];
            /**
             * Format: int32
             * @description `before` of the next page; null at the end.
             */
            next?: number | null;
        };
        JobOptions: {
            /** @description restart or reload, once files were released */
            after_release?: string | null;
            /** @description Tasks at a time; all of one priority if not given */
            batch_size?: number | null;
            /** @description Only these templates; all that are bound if none is named */
            config_template_ids?: number[];
            /** @description Codes that count as ignored instead of failed */
            ignore_error_codes?: number[];
            /** @description business, set, module or host: within what a failure holds up what would come later */
            isolation?: string;
            /** @description So many failures hold nothing up */
            max_failures?: number;
            /** @description Between two batches */
            pause_secs?: number;
        };
        JobOptionsBody: {
            /** @description restart or reload, once files were released */
            after_release?: string | null;
            /** @description Tasks at a time: a number, or a share of all tasks such as 10%; all of one priority if not given */
            batch_size?: number | string | null;
            /** @description Only these templates; all that are bound if none is named */
            config_template_ids?: number[];
            /** @description Codes that count as ignored instead of failed */
            ignore_error_codes?: number[];
            /** @description business (all together), set, module or host: within what a failure holds up what would come later; without a business only business and host */
            isolation?: string;
            /** @description So many failures hold nothing up */
            max_failures?: number;
            /** @description Between two batches */
            pause_secs?: number;
        };
        JobRetried: {
            /** Format: int32 */
            id: number;
            /**
             * Format: int32
             * @description How many begin again.
             */
            tasks: number;
        };
        /** @description One process of a job, named as it was at the beginning. */
        JobTaskView: {
            /**
             * Format: int32
             * @description 0 unless it failed or was ignored.
             */
            code: number;
            command: string;
            /** Format: int64 */
            ended_at: number;
            /** @description `set.module.service.process.id`; empty in a job over registered processes. */
            expression: string;
            /** @description `cloud:ip` */
            host: string;
            /** Format: int64 */
            inst_id?: number | null;
            /** Format: int32 */
            local_inst_id?: number | null;
            /** @description The alias; of a registered process `namespace/name`. */
            name: string;
            /**
             * Format: int32
             * @description From 0; a retry names tasks by it.
             */
            ordinal: number;
            /** @description What the command printed, or what a diff shows. */
            output: string;
            /** Format: int32 */
            priority: number;
            /**
             * Format: int32
             * @description The id of the process; null in a job over registered processes, as are the next two.
             */
            process?: number | null;
            /** @description Why it failed or was ignored. */
            reason: string;
            /** @description What can be done about it. */
            solutions: string[];
            /** Format: int64 */
            started_at: number;
            /** @description `pending`, `running`, `succeeded`, `failed` or `ignored`. */
            status: string;
        };
        /** @description A job in short. */
        JobView: {
            action: string;
            app: string;
            batch?: components["schemas"]["BatchView"] | null;
            /**
             * Format: int32
             * @description Null for a job over registered processes.
             */
            business?: number | null;
            /** @description The user who cancelled it; empty when it was not cancelled. */
            cancelled_by: string;
            counts: components["schemas"]["JobCountsView"];
            /** Format: int64 */
            created_at: number;
            /**
             * Format: int64
             * @description 0 while it goes on.
             */
            ended_at: number;
            /** Format: int32 */
            id: number;
            /** @description The namespaces of a job over registered processes; empty for a job of a business. */
            namespaces: string[];
            options: components["schemas"]["JobOptions"];
            /** @description The user who paused it; empty while it is not paused. Nothing more of a paused job begins. */
            paused_by: string;
            /** @description What it was begun for: an object with `scope`, `expression_scope` or `filter`. */
            selection: Record<string, never>;
            /** @description `pending`, `running`, `succeeded` or `failed`. */
            status: string;
            user: string;
        };
        /** @description How a run ended. Neither code nor signal: the agent could not see it. */
        LastExitView: {
            /** Format: int64 */
            at: number;
            /** Format: int32 */
            code?: number | null;
            /** @description Whether the kernel killed it because memory was short. */
            oom: boolean;
            /** Format: int32 */
            signal?: number | null;
        };
        /** @description A piece of output, on a line of its own. One without any field says that the server is still there. */
        LogPiece: {
            /**
             * @description Output that is no UTF-8, in base64
             * @default
             */
            base64: string;
            /**
             * @description Why the output ends early: the last piece
             * @default
             */
            end: string;
            /**
             * @description Output, which may begin and end within a line
             * @default
             */
            text: string;
        };
        LoggedIn: {
            bk_token: string;
            /** Format: int64 */
            expires_at: number;
        };
        LoginBody: {
            /** @description A one-time code, in place of `username` and `password`. */
            code?: string | null;
            password?: string | null;
            username?: string | null;
        };
        LoginCodeBody: {
            /** @description Who can log in with it: the caller if not given; for an app, if its user does not exist, the first administrator. */
            user?: string | null;
        };
        LoginCodeCreated: {
            /** @description Logs this user in once. */
            code: string;
            /** Format: int64 */
            expires_at: number;
            /** @description Where the console takes the code: append it to the address of the server. */
            path: string;
            user: string;
        };
        /** @description The logins of one user that have not ended. */
        LoginList: {
            /** @description The newest first. */
            logins: components["schemas"]["LoginView"][];
        };
        LoginView: {
            /** Format: int64 */
            created_at: number;
            /** @description Whether the request was made with this login. */
            current: boolean;
            /** Format: int64 */
            expires_at: number;
            /** @description Names the login; it is not its token. */
            id: string;
        };
        Match: {
            expression: string;
            /** Format: int32 */
            id: number;
        };
        /**
         * @description The role that a request needs and that its app, its user or both lack. Without `namespace` and `business` the role is needed
         *     for everything, or anywhere.
         */
        MissingRoleDetail: {
            /** @description The app, if it lacks the role. */
            app?: string | null;
            /** Format: int32 */
            business?: number | null;
            namespace?: string | null;
            /** @description `viewer`, `operator` or `admin`. */
            role: string;
            /** @description The user, if they lack the role. */
            user?: string | null;
        };
        /** @description What names begin with a text, for completion. */
        NameList: {
            /** @description `namespace/name` of processes, sorted, each once for all its hosts. */
            names: string[];
            /** @description Namespaces with processes, sorted. */
            namespaces: string[];
        };
        OperateBody: {
            /** @description Every host where it is registered, instead of `hosts`. */
            all?: boolean | null;
            hosts?: components["schemas"]["HostRef"][] | null;
            labels?: {
                [key: string]: string;
            };
            /** @description start, stop, query, manage, unmanage, restart, reload or kill */
            op: string | null;
            /** @description `namespace/name`, in a request of several operations. */
            process?: string | null;
            spec?: components["schemas"]["Spec"] | null;
        };
        /** @description The task that was made. */
        Operated: {
            /** @description How many hosts were named; one that was named twice is one target. */
            targets: number;
            task_id: string;
        };
        /** @description What an operation would do, of a dry run. Counts are of processes; lists have the most frequent first. */
        OperationPlanView: {
            /** @description What would not have the effect that is wanted, and why. */
            blocked: components["schemas"]["BlockedGroup"][];
            /** @description What agents would execute: up to five different commands, or signals where there is none. */
            commands: components["schemas"]["CommandCount"][];
            /** Format: int64 */
            count: number;
            /** @description `test`, `experience` and `formal`, of processes of a business. */
            environments: components["schemas"]["ValueCount"][];
            /**
             * Format: int64
             * @description How many different hosts.
             */
            hosts: number;
            namespaces: components["schemas"]["ValueCount"][];
            /** @description The first five processes. */
            sample: components["schemas"]["SampleProcess"][];
        };
        /** @description Either `operations`, or one operation on everything that matches a filter. */
        OperationsBody: {
            /** @description Only tells what would be done. */
            dry_run?: boolean | null;
            /** @description Processes that match and are left out: `NAMESPACE/NAME@CLOUD:IP`. */
            except?: string[] | null;
            /**
             * Format: int64
             * @description How many processes the caller expects; with another number nothing is done (409, `count_changed`).
             */
            expect_count?: number | null;
            /** @description The parameters of `GET /api/v1/processes` that filter, each a text, a number, a boolean, or a list of them. */
            filter?: Record<string, never> | null;
            /** @description start, stop, query, manage, unmanage, restart, reload or kill, on what the filter matches */
            op?: string | null;
            operations?: components["schemas"]["OperateBody"][] | null;
            options?: components["schemas"]["JobOptionsBody"] | null;
        };
        PartExplained: {
            /**
             * Format: int64
             * @description How many processes are left after this part and those before it.
             */
            count: number;
            /** @description `set`, `module`, `service`, `process` or `id`. */
            part: string;
            text: string;
            /** @description What it means, in words. */
            words: string;
        };
        PasswordBody: {
            /** @description 8 characters or more. */
            new: string | null;
            /** @description The password that counts until now; left out by a user who has none yet. */
            old?: string | null;
        };
        Place: {
            /** Format: int32 */
            id: number;
            name: string;
        };
        /** @description How long to wait for what, and how often to try again. null is as good as absent. */
        Policy: {
            /** @description 0 periodic, 1 resident, 2 one-shot */
            auto_type?: number | string | null;
            /** @description Five fields; a process of auto_type 0 without it runs only when asked */
            crontab_rule?: string | null;
            /** @description Seconds that a command may take; 60 */
            op_timeout?: number | string | null;
            /** @description When to look after the start command; 5 */
            start_check_secs?: number | string | null;
            /** @description Seconds between restarts; 10 */
            start_interval?: number | string | null;
            /** @description Failed restarts in a row before giving up; 4 */
            start_retries?: number | string | null;
            /** @description When to look after the stop command; 0 */
            stop_check_secs?: number | string | null;
        };
        Preview: {
            content: string;
        };
        PreviewBody: {
            /**
             * Format: int32
             * @description 1 if not given
             */
            local_inst_id?: number | null;
            /**
             * Format: int32
             * @description The id of the process.
             */
            process: number | null;
            /**
             * Format: int32
             * @description Its draft, or its active version where it has none.
             */
            template?: number | null;
            /** @description In place of `template`: a text that is not stored. */
            text?: string | null;
        };
        /** @description What is registered under one name, and where. */
        ProcessDetail: {
            /** Format: int64 */
            count: number;
            definitions: components["schemas"]["DefinitionView"][];
            /** @description `namespace/name` */
            process: string;
            processes: components["schemas"]["ProcessView"][];
            /** Format: int64 */
            start: number;
        };
        ProcessDocument: {
            /** @description The binary; else the alias */
            bk_func_name?: string;
            bk_process_id?: number;
            /** @description The alias */
            bk_process_name: string;
            bk_start_check_secs?: number;
            face_stop_cmd?: string;
            /** @description In addition to those that every instance has */
            labels?: {
                [key: string]: string;
            };
            pid_file?: string;
            priority?: number | null;
            /** @description Instances on each host; 1 if not given */
            proc_num?: number;
            process_template_id?: number;
            reload_cmd?: string;
            restart_cmd?: string;
            /** @description What else a spec has, in its sections; texts are rendered for each instance, as the commands are */
            spec?: Record<string, never>;
            start_cmd?: string;
            stop_cmd?: string;
            /** @description Seconds that an operation may take */
            timeout?: number;
            user?: string;
            work_path?: string;
        };
        /** @description What a process used in the last hour. The oldest first; null where it did not run. */
        ProcessFigures: {
            /** @description Percent of the whole machine. */
            cpu: (number | null)[];
            /** @description Open descriptors. */
            fd: (number | null)[];
            /** @description `cloud:ip` */
            host: string;
            mem: (number | null)[];
            /**
             * Format: int64
             * @description How far apart two figures are.
             */
            step_secs: number;
            /**
             * Format: int64
             * @description The time of the last figure.
             */
            until: number;
        };
        /** @description A pool that processes of one namespace share on one host; over its limit one of them is killed. */
        ProcessGroup: {
            id: string | number;
            resource?: {
                /** @description Percent of the whole machine; 0 for none */
                cpu_pool_limit?: number | string | null;
                /** @description 0: the victim uses most; 1: it uses most of its own limit */
                cpu_pool_weight?: number | string | null;
                /** @description Percent of the whole machine; 0 for none */
                mem_pool_limit?: number | string | null;
                /** @description As cpu_pool_weight */
                mem_pool_weight?: number | string | null;
            };
        };
        /** @description Part of a list, and how long the whole is. */
        ProcessPage: {
            /** Format: int64 */
            count: number;
            processes: components["schemas"]["ProcessView"][];
            /** Format: int64 */
            start: number;
        };
        /** @description One process on one host. */
        ProcessView: {
            agent_id?: string | null;
            /**
             * @description Operations that the caller may not or cannot take now, each with its reason: `role`, `agent_away`, `no_command`,
             *     `not_running` (reload), or `already_running`, `already_stopped`, `already_managed`, `already_unmanaged`, which are
             *     accepted all the same.
             */
            blocked: {
                [key: string]: string;
            };
            /**
             * Format: int32
             * @description The business whose process it is an instance of.
             */
            business?: number | null;
            /** @description Whether its host's agent is connected. */
            connected: boolean;
            /**
             * Format: double
             * @description Percent of the whole machine.
             */
            cpu: number;
            /**
             * Format: int32
             * @description The `id` of its definition; hosts with the same one are registered alike.
             */
            definition: number;
            /**
             * Format: int64
             * @description Bytes under its log path.
             */
            disk: number;
            /** Format: int32 */
            fd: number;
            /** @description What is wanted: `running` or `stopped`. */
            flag: string;
            health?: components["schemas"]["HealthView"] | null;
            /** @description `cloud:ip` */
            host: string;
            /** @description As its agent reported it. */
            hostname?: string | null;
            labels: {
                [key: string]: string;
            };
            last_exit?: components["schemas"]["LastExitView"] | null;
            /** @description Whether the agent keeps it as wanted. */
            managed: boolean;
            /** Format: double */
            mem: number;
            /** @description Why it is as it is. */
            message: string;
            name: string;
            namespace: string;
            /**
             * Format: int64
             * @description Bytes per second.
             */
            net: number;
            /**
             * Format: int64
             * @description When the next attempt of a `backoff` or the next run of a `scheduled` process is due, else null.
             */
            next_at?: number | null;
            /**
             * Format: int32
             * @description Null when there is none.
             */
            pid?: number | null;
            reason?: components["schemas"]["ReasonView"] | null;
            /**
             * Format: int64
             * @description Times are milliseconds since 1970, 0 for never.
             */
            registered_at: number;
            /** Format: int64 */
            reported_at: number;
            /** @description Whether its run began with an older spec, whose changes take effect only at the next start. */
            restart_needed: boolean;
            /**
             * Format: int32
             * @description How often the agent has started it by itself since the last operation that did; at most 65535.
             */
            restarts: number;
            /** Format: int64 */
            started_at: number;
            /**
             * @description What is: `running`, `starting`, `unhealthy`, `backoff`, `failed`, `stopped`, `completed`, `scheduled`, or
             *     `unknown` before any agent has said and while its agent is away.
             */
            state: string;
            version: string;
            /** @description The last known state while the agent is away, else null. */
            was?: string | null;
        };
        /** @description A reason as a code with parameters. */
        ReasonView: {
            /** @description `unhealthy`, `backoff`, `gave_up`, `down` (wanted, and does not run), `not_reported`, `agent_away` or `no_agent`. */
            code: string;
            /** @description As the code needs: `since`, `tried`, `exit`, `check`. */
            params: {
                [key: string]: string;
            };
        };
        RegisterBody: {
            hosts: components["schemas"]["HostRef"][];
            labels?: {
                [key: string]: string;
            };
            spec: components["schemas"]["Spec"];
        };
        ReplicaList: {
            /** @description Whether its messages to the others go the fast way. */
            bus_up: boolean;
            /** @description The one that answers first. */
            replicas: components["schemas"]["ReplicaRow"][];
            /** @description Whether it reaches the store; if not, it answers with what it knows. */
            store_up: boolean;
        };
        ReplicaRow: {
            /** @description Where its API listens. */
            address: string;
            /** @description How many agents are connected to it. */
            agents: number;
            /** @description Whether it asks its agents to go elsewhere. */
            draining: boolean;
            /** @description Another one after each start. */
            id: string;
            /** @description Whether it does the background work: timeouts, jobs, webhooks, refreshes. */
            leads: boolean;
            /** @description Whether it is the one that answers. */
            this: boolean;
        };
        /** @description One result per host. */
        Results: {
            results: components["schemas"]["HostResult"][];
        };
        RetryBody: {
            /** @description Only failures with one of these codes. */
            codes?: number[] | null;
            /** @description Only on these hosts: CLOUD:IP or IP. */
            hosts?: string[] | null;
            /** @description Only failures with a reason like this one, as the groups of failures have it. */
            reason?: string | null;
            /** @description Ordinals of the tasks; all that failed if not given. */
            tasks?: number[] | null;
        };
        RunView: {
            /** Format: int32 */
            pid: number;
            /** Format: int64 */
            started_at: number;
        };
        SampleProcess: {
            /** @description `cloud:ip` */
            host: string;
            /** @description `namespace/name` */
            process: string;
        };
        /** @description By ids and exact names; what is absent or empty does not restrict. */
        ScopeBody: {
            /** @description Ids of processes. */
            ids?: number[] | null;
            modules?: number[] | null;
            /** @description Aliases. */
            names?: string[] | null;
            services?: number[] | null;
            sets?: number[] | null;
        };
        /** @description What holds all words of a search, the first of each kind. */
        SearchResult: {
            businesses: components["schemas"]["FoundBusiness"][];
            hosts: components["schemas"]["FoundHost"][];
            namespaces: string[];
            /** @description `namespace/name`, each once for all its hosts. */
            processes: string[];
            templates: components["schemas"]["FoundTemplate"][];
        };
        /** @description How to run a process. Limits of 0 or none mean no limit. Numbers may come as text. */
        Spec: {
            alive_monitor_policy?: components["schemas"]["Policy"];
            /** @description Files whose content is watched */
            configmap?: {
                /** @description 32 hexadecimal digits; without it the file is watched for changes */
                md5?: string;
                /** @description Absolute; an entry without it does nothing */
                path?: string;
            }[];
            /** @description Shell commands, run in setup_path as user */
            control?: {
                /** @description Succeeds while the process is well */
                health_cmd?: string | null;
                /** @description Else SIGKILL to it and its descendants */
                kill_cmd?: string | null;
                /** @description Else SIGHUP */
                reload_cmd?: string | null;
                /** @description Else stop, then start */
                restart_cmd?: string | null;
                /** @description Needed to start it */
                start_cmd?: string | null;
                /** @description Else SIGTERM */
                stop_cmd?: string | null;
                /** @description Its first line that looks like a version */
                version_cmd?: string | null;
            };
            identity: {
                /** @description Absolute */
                config_path?: string;
                index_key?: string;
                /** @description Absolute; where output of a foreground program goes */
                log_path?: string;
                /** @description Absolute */
                pid_path: string;
                /** @description Base name of the binary or script, checked against /proc/PID */
                proc_name: string;
                /** @description Absolute; the working directory of every command */
                setup_path: string;
                /** @description The system user that it runs as */
                user: string;
            };
            monitor_policy?: components["schemas"]["Policy"];
            /** @description Upper bounds; cpu and mem are needed in register_proc_info. fd, disk and net are reserved: kept, shown and not enforced, see runtime.fd_max, log_bytes_max and net_max */
            resource?: {
                /** @description Percent of the whole machine */
                cpu?: number | string | null;
                /** @description Reserved: kept and not enforced; also as disk_io */
                disk?: number | string | null;
                /** @description Reserved: kept and not enforced */
                fd?: number | string | null;
                /** @description Percent of the whole machine */
                mem?: number | string | null;
                /** @description Reserved: kept and not enforced; also as net_io */
                net?: number | string | null;
            };
            /** @description All optional; for every command of the process */
            runtime?: {
                /** @description Largest core file in bytes; 0 */
                core?: number | string | null;
                /** @description Percent of the whole machine that the kernel lets it have */
                cpu_max?: number | string | null;
                /** @description Variables on top of the clean environment; any but MUSTER_… */
                env?: {
                    [key: string]: string | number | boolean | null;
                } | null;
                /** @description Open descriptors of the process and its descendants; killed when over it for 3 samples */
                fd_max?: number | string | null;
                /** @description Bytes on disk under log_path; killed when over it for 3 samples */
                log_bytes_max?: number | string | null;
                /** @description How many old logs are kept; 5 */
                log_keep?: number | string | null;
                /** @description A longer log is rotated; 104857600 */
                log_max_bytes?: number | string | null;
                /** @description Bytes that the kernel lets it have; 1048576 or more */
                memory_max?: number | string | null;
                /** @description Bytes per second over TCP; killed when over it for 3 samples */
                net_max?: number | string | null;
                /** @description -20 to 19; 0 */
                nice?: number | string | null;
                /** @description Most open descriptors */
                nofile?: number | string | null;
                /** @description Most processes of the user */
                nproc?: number | string | null;
                /** @description Processes and threads that the kernel lets it have */
                pids_max?: number | string | null;
                /** @description Octal digits; 022 */
                umask?: string | null;
            };
            warn_report_policy?: {
                report_id?: number | string | null;
            };
        };
        /** @description How many processes were in each state. The oldest first; null where no server ran. */
        StateFigures: {
            states: {
                [key: string]: (number | null)[];
            };
            /** Format: int64 */
            step_secs: number;
            /**
             * Format: int64
             * @description The time of the last figure.
             */
            until: number;
        };
        /** @description How one target fared. */
        TargetResult: {
            /**
             * Format: int32
             * @description 0 done, 115 while it goes on, else why not.
             */
            code: number;
            /** @description The command that ran, if one did. */
            command?: string | null;
            /**
             * Format: int64
             * @description How long the command ran.
             */
            duration_ms?: number | null;
            /** Format: int64 */
            ended_at?: number | null;
            /** Format: int32 */
            exit_code?: number | null;
            /** Format: int32 */
            exit_signal?: number | null;
            /** @description `cloud:ip`, or what the caller wrote where that names no host. */
            host: string;
            /** @description What a query saw. */
            instance?: Record<string, never> | null;
            /** @description Whether the agent keeps it as wanted from now on, where the operation changed that. */
            managed?: boolean | null;
            /** @description Of a command that failed, the line of its output that names the error. */
            message: string;
            op: string;
            /** @description The last 64 KiB of what it printed. */
            output?: string | null;
            /** @description `namespace/name` */
            process: string;
            /**
             * Format: int64
             * @description From the request to the result, with the checks that follow the command.
             */
            took_ms?: number | null;
            /** @description What is wrong although it is done, such as a log that cannot be written. */
            warning?: string | null;
        };
        /** @description A task with part of its results. */
        TaskDetail: {
            app: string;
            /** @description How many results match. */
            count: number;
            counts: components["schemas"]["Counts"];
            /** Format: int64 */
            created_at: number;
            id: string;
            results: components["schemas"]["TargetResult"][];
            /** @description The task whose failed targets it repeats; null for other tasks. */
            retries?: string | null;
            /** Format: int64 */
            start: number;
            /** @description `running` or `finished`. */
            state: string;
            user: string;
        };
        TaskList: {
            /** @description `before` of the next page; null at the end. */
            next?: string | null;
            tasks: components["schemas"]["TaskRow"][];
        };
        TaskRetryBody: {
            /** @description Only failures with one of these codes. */
            codes?: number[] | null;
            /** @description Only on these hosts: CLOUD:IP or IP. */
            hosts?: string[] | null;
            /** @description Only failures with a reason like this one, as the groups of failures have it. */
            reason?: string | null;
        };
        /** @description A task in short. */
        TaskRow: {
            app: string;
            /** Format: int64 */
            created_at: number;
            /** Format: int32 */
            ended: number;
            /**
             * Format: int32
             * @description How many have ended and not well.
             */
            failed: number;
            id: string;
            /** Format: int32 */
            ok: number;
            /** @description `start`, `stop` and so on; null where its targets have different ones. */
            op?: string | null;
            /** @description `namespace/name` of its first target. */
            process: string;
            /**
             * Format: int32
             * @description How many different processes it has, counted among its first 1,000 targets.
             */
            processes: number;
            /** @description The task whose failed targets it repeats; null for other tasks. */
            retries?: string | null;
            state: string;
            /** Format: int32 */
            targets: number;
            user: string;
        };
        TemplateBody: {
            /** @description The folder of the file. */
            abs_path: string;
            file_name: string;
            /** @description Octal; 0644 if not given */
            filemode?: string | null;
            /** @description root if not given */
            group?: string | null;
            /** @description LF, CRLF or CR; LF if not given */
            line_separator?: string | null;
            /** @description root if not given */
            owner?: string | null;
            /** @description Unique in its business. */
            template_name: string;
        };
        TemplateList: {
            templates: components["schemas"]["TemplateShown"][];
        };
        TemplateOf: {
            file_name: string;
            /** Format: int32 */
            id: number;
            name: string;
        };
        /** @description A config template: what is written where, without its text. */
        TemplateShown: {
            /** @description The folder of the file. */
            abs_path: string;
            /**
             * Format: int32
             * @description The version that is generated from, if there is one.
             */
            active?: number | null;
            bindings: components["schemas"]["Bindings"];
            /**
             * Format: int32
             * @description The version that is being written, if there is one.
             */
            draft?: number | null;
            file_name: string;
            /** @description Octal, such as `0644`. */
            filemode: string;
            group: string;
            /** Format: int32 */
            id: number;
            /** @description `LF`, `CRLF` or `CR`. */
            line_separator: string;
            owner: string;
            template_name: string;
            /** Format: int64 */
            updated_at: number;
            updated_by: string;
            versions: number;
        };
        TimelineList: {
            entries: components["schemas"]["TimelineRow"][];
            /** @description `before` of the next page; null at the end. */
            next?: string | null;
        };
        /** @description One thing that happened. */
        TimelineRow: {
            app: string;
            /** Format: int64 */
            at: number;
            /**
             * @description The kind of an event; `start`, `stop` and so on; `agent_connected`, `agent_away`; `registered`, `updated`,
             *     `unregistered`; `released`, `config_drift`; `process_unhealthy`.
             */
            code: string;
            /** @description The address that the request came from. */
            from: string;
            /** @description Null for what happened on several hosts, if the request names none. */
            host?: string | null;
            id: string;
            /** Format: int32 */
            job_id?: number | null;
            /** @description `event`, `operation`, `agent`, `spec`, `config` or `health`. */
            kind: string;
            /** @description Such as `hosts` (how many), `away_secs`, `path`, `md5`, `exit_code` and `exit_signal`. */
            params: {
                [key: string]: string;
            };
            /** @description `namespace/name`; null for what happened to a host. */
            process?: string | null;
            /** @description The task of an operation. Tasks are kept for two days. */
            task_id?: string | null;
            /** @description A sentence for people. */
            text: string;
            /** @description Empty if no person caused it. */
            user: string;
        };
        TokenBody: {
            /** @description Such as `24h`; it does not expire if not given. */
            expires_in?: string | null;
            /** @description `CLOUD:IP`: good for this host alone. */
            host?: string | null;
            /**
             * @description Whether an agent that joins with it takes the place of one that is connected, or was within the last ten minutes.
             *     No, if not given.
             */
            replace?: boolean | null;
            /**
             * Format: int32
             * @description How many agents may join with it; any number if not given.
             */
            uses?: number | null;
        };
        TokenList: {
            tokens: components["schemas"]["TokenRow"][];
        };
        TokenRow: {
            /** Format: int64 */
            created_at: number;
            /**
             * Format: int64
             * @description 0 for never.
             */
            expires_at: number;
            /** @description The only host that it is good for; null for any. */
            host?: string | null;
            id: string;
            /** @description Whether an agent that joins with it takes the place of one that is connected, or was within the last ten minutes. */
            replace: boolean;
            /**
             * Format: int32
             * @description How many agents may still join with it; null for any number.
             */
            uses_left?: number | null;
        };
        TreeModule: {
            /** Format: int64 */
            count: number;
            /** Format: int32 */
            id: number;
            name: string;
            /** Format: int64 */
            running: number;
        };
        TreeSet: {
            /**
             * Format: int64
             * @description How many processes it has.
             */
            count: number;
            /** @description `test`, `experience` or `formal`. */
            env: string;
            /** Format: int32 */
            id: number;
            modules: components["schemas"]["TreeModule"][];
            name: string;
            /**
             * Format: int64
             * @description How many of them run, with all their instances.
             */
            running: number;
        };
        UserBody: {
            /** @description What they may do; a viewer of everything if not given. */
            grants?: components["schemas"]["GrantBody"][] | null;
            name: string | null;
            password: string | null;
        };
        UserList: {
            users: components["schemas"]["UserRow"][];
        };
        UserRow: {
            /** Format: int64 */
            created_at: number;
            /** @description What they may do. */
            grants: components["schemas"]["GrantRow"][];
            name: string;
        };
        ValueCount: {
            /** Format: int64 */
            count: number;
            value: string;
        };
        /** @description What templates of an instance may use. */
        VariableList: {
            /** @description By name. */
            variables: Record<string, never>;
        };
        VersionList: {
            versions: components["schemas"]["VersionShown"][];
        };
        VersionShown: {
            /** @description Its text; lists leave it out. */
            content?: string | null;
            description: string;
            /** Format: int32 */
            id: number;
            /** @description `draft`, `active` or `past`. */
            state: string;
            /** Format: int32 */
            template: number;
            /** Format: int64 */
            updated_at: number;
            updated_by: string;
        };
        ViewList: {
            /**
             * Format: int64
             * @description How many there are in all.
             */
            count: number;
            processes: components["schemas"]["ViewProcess"][];
            /** Format: int64 */
            start: number;
        };
        /** @description A process of the view: on one host, with one or more instances. */
        ViewProcess: {
            agent_id?: string | null;
            /** @description Actions of jobs that the caller may not or cannot take now, each with its reason, as in the list of processes. */
            blocked: {
                [key: string]: string;
            };
            /** Format: int32 */
            business: number;
            cloud_name?: string | null;
            config_templates: components["schemas"]["TemplateOf"][];
            /** @description `test`, `experience` or `formal`. */
            env: string;
            /** @description `set.module.service.process.id` */
            expression: string;
            /** @description `cloud:ip` */
            host: string;
            /**
             * Format: int32
             * @description Its `bk_process_id`.
             */
            id: number;
            instances: components["schemas"]["InstanceView"][];
            ip_v6?: string | null;
            /** @description Whether all instances are managed. */
            managed: boolean;
            module: components["schemas"]["Place"];
            /** @description The alias. */
            name: string;
            /** Format: int32 */
            priority?: number | null;
            /**
             * Format: int32
             * @description 0 for none.
             */
            process_template: number;
            service: components["schemas"]["Place"];
            /** Format: int32 */
            service_template: number;
            set: components["schemas"]["Place"];
            /** @description `running` when all instances run, `unregistered` when nothing was ever heard of any, else `stopped`. */
            status: string;
            /** @description Its source does not have it any more, and it still runs. */
            vanished: boolean;
        };
        /** @description What the server wants of it. */
        WantedView: {
            /** @description Stands for spec and labels: equal texts, equal definitions. */
            definition?: string | null;
            /** @description `running`, `stopped` or `unregistered` */
            flag?: string | null;
            /**
             * Format: int64
             * @description Tells this registration from an earlier one.
             */
            incarnation?: number | null;
            managed?: boolean | null;
            /** @description Whether it is registered on this host; if not, the rest is null. */
            registered: boolean;
            /** Format: int64 */
            registered_at?: number | null;
        };
        WebhookBody: {
            /** @description Only events of these kinds; all if not given. */
            kinds?: string[] | null;
            /** @description Only events of these namespaces; all if not given. */
            namespaces?: string[] | null;
            /** @description Signs what is sent, 16 to 256 bytes; made by the server if not given. The server keeps it to sign with. */
            secret?: string | null;
            /** @description `http://HOST[:PORT]/PATH` */
            url: string | null;
        };
        WebhookList: {
            webhooks: components["schemas"]["WebhookRow"][];
        };
        WebhookRow: {
            /** Format: int64 */
            created_at: number;
            /**
             * Format: int64
             * @description Deliveries that succeeded since the server started.
             */
            delivered: number;
            /**
             * Format: int64
             * @description Attempts that failed since the server started.
             */
            failed: number;
            /**
             * Format: int64
             * @description Since when deliveries fail; null when the last one succeeded.
             */
            failing_since?: number | null;
            id: string;
            /** @description Null for all. */
            kinds?: string[] | null;
            /** @description Why the last delivery failed; null when it succeeded. */
            last_error?: string | null;
            /** @description Null for all. */
            namespaces?: string[] | null;
            url: string;
        };
        /** @description How a test went. */
        WebhookTest: {
            delivered: boolean;
            /** @description Why it was not delivered; null when it was. */
            error?: string | null;
            /**
             * Format: int32
             * @description What the receiver answered with; null when it did not.
             */
            status?: number | null;
            /** Format: int64 */
            took_ms: number;
        };
        /** @description The caller: an app, a user, or both. */
        WhoAmI: {
            app?: components["schemas"]["WhoAmIApp"] | null;
            user?: components["schemas"]["WhoAmIUser"] | null;
        };
        WhoAmIApp: {
            code: string;
            /** @description What it may do. */
            grants: components["schemas"]["GrantRow"][];
            /**
             * Format: int32
             * @description Requests per second; 0 for no limit.
             */
            rate_limit: number;
            /** @description May name its user instead of a login. */
            trusted: boolean;
        };
        WhoAmIUser: {
            /**
             * Format: int64
             * @description When the login ends; null without one.
             */
            expires_at?: number | null;
            /** @description What they may do; null where a trusted app names the user, because only the roles of the app count then. */
            grants?: components["schemas"]["GrantRow"][] | null;
            /** @description Whether they can log in by a password; null without a login. */
            has_password?: boolean | null;
            /** @description Whether the user is logged in; otherwise a trusted app names the user. */
            logged_in: boolean;
            name: string;
        };
        /** @description Why a process on a host is as it is. */
        WhyView: {
            /**
             * @description `running`, `starting`, `unhealthy`, `backoff`, `gave_up`, `stopped_by`, `down` (wanted, and does not run),
             *     `not_started`, `completed`, `scheduled`, `not_reported`, `agent_away` or `no_agent`.
             */
            code: string;
            /** @description `cloud:ip` */
            host: string;
            last_exit?: components["schemas"]["LastExitView"] | null;
            /**
             * Format: int64
             * @description When it starts next, else null.
             */
            next?: number | null;
            /**
             * @description The last lines of the run that ended; empty if there is none, its agent is away, or the caller may not read
             *     output.
             */
            output: string[];
            /** @description As the code needs: `since`, `tried`, `exit`, `check`, `op`, `user`, `app`, `from`. */
            params: {
                [key: string]: string;
            };
            /** @description `namespace/name` */
            process: string;
            /**
             * Format: int64
             * @description Since when; 0 if that is not known.
             */
            since: number;
            state: string;
            /** @description A sentence for people. */
            text: string;
            /**
             * Format: int32
             * @description How often the agent has started it by itself since the last operation that did.
             */
            tried: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_apps: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All apps */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    create_app: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "code": "deploy",
                 *       "grants": [
                 *         {
                 *           "namespaces": [
                 *             "web"
                 *           ],
                 *           "role": "operator"
                 *         }
                 *       ],
                 *       "rate_limit": 50
                 *     }
                 */
                "application/json": components["schemas"]["AppBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApp"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description It exists */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    delete_app: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description An app cannot delete itself */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    grant_to_app: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example deploy */
                code: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "namespaces": [
                 *         "db"
                 *       ],
                 *       "role": "viewer"
                 *     }
                 */
                "application/json": components["schemas"]["GrantBody"];
            };
        };
        responses: {
            /** @description All that it has now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    revoke_from_app: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example deploy */
                code: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "namespaces": [
                 *         "db"
                 *       ],
                 *       "role": "viewer"
                 *     }
                 */
                "application/json": components["schemas"]["GrantBody"];
            };
        };
        responses: {
            /** @description All that it has left */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description An admin cannot give up the role: another admin can take it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_audit: {
        parameters: {
            query?: {
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
                /** @description Only lines older than this one: `next` of the page before */
                before?: number;
                /** @description Only what this app did */
                app?: string;
                /** @description Only what this user did */
                user?: string;
                /** @description Only this action */
                action?: string;
                /** @description Only what came from this address */
                from?: string;
                /** @description Only objects that hold this text */
                object?: string;
                /** @description Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                since?: string;
                /** @description Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines of the trail; a page may be short, or even empty, though more follow: `next` tells */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    export_audit: {
        parameters: {
            query?: {
                /** @description jsonl (one JSON object a line) or csv; jsonl if not given */
                format?: string;
                /** @description Only what this app did */
                app?: string;
                /** @description Only what this user did */
                user?: string;
                /** @description Only this action */
                action?: string;
                /** @description Only what came from this address */
                from?: string;
                /** @description Only objects that hold this text */
                object?: string;
                /** @description Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                since?: string;
                /** @description Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lines. An export that cannot be finished is broken off, not ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_businesses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Businesses */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BusinessList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    preview_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 2 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "local_inst_id": 2,
                 *       "process": 1,
                 *       "template": 1
                 *     }
                 */
                "application/json": components["schemas"]["PreviewBody"];
            };
        };
        responses: {
            /** @description What it would be */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_config_files: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                process: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Files */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfigFileList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_config_file: {
        parameters: {
            query?: {
                /** @description generated or released; generated if not given */
                of?: string;
            };
            header?: never;
            path: {
                id: number;
                process: number;
                local_inst_id: number;
                template: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_variables: {
        parameters: {
            query?: {
                /** @description The number of the instance on its host, 1 if not given */
                inst?: number;
            };
            header?: never;
            path: {
                id: number;
                process: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The variables */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VariableList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    refresh_business: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Difference"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_templates: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Templates */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    create_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 2 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "abs_path": "/opt/shop/cart/conf",
                 *       "file_name": "cart.conf",
                 *       "filemode": "0640",
                 *       "group": "shop",
                 *       "owner": "shop",
                 *       "template_name": "cart.conf"
                 *     }
                 */
                "application/json": components["schemas"]["TemplateBody"];
            };
        };
        responses: {
            /** @description It is there, without a version */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description One of this name is there already */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                template: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    update_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 2 */
                id: number;
                /** @example 1 */
                template: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "abs_path": "/opt/shop/cart/conf",
                 *       "file_name": "cart_${local_inst_id}.conf",
                 *       "filemode": "0640",
                 *       "group": "shop",
                 *       "line_separator": "LF",
                 *       "owner": "shop",
                 *       "template_name": "cart.conf"
                 *     }
                 */
                "application/json": components["schemas"]["TemplateBody"];
            };
        };
        responses: {
            /** @description The template */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Another has this name */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    delete_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                template: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    bind_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 2 */
                id: number;
                /** @example 1 */
                template: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "process_templates": [
                 *         7
                 *       ],
                 *       "processes": []
                 *     }
                 */
                "application/json": components["schemas"]["Bindings"];
            };
        };
        responses: {
            /** @description The template */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    save_draft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 2 */
                id: number;
                /** @example 1 */
                template: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "content": "name = ${bk_process_name}_${local_inst_id}\nport = ${port + local_inst_id}\n",
                 *       "description": "listens on one port for each instance"
                 *     }
                 */
                "application/json": components["schemas"]["DraftBody"];
            };
        };
        responses: {
            /** @description The draft */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_versions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                template: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Versions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                template: number;
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    activate_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                template: number;
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    clone_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                template: number;
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The draft */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionShown"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_topology: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BusinessDocument"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    import_topology: {
        parameters: {
            query?: {
                /** @description Only tells what would change */
                dry_run?: boolean;
            };
            header?: never;
            path: {
                /** @example 2 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "bk_biz_id": 2,
                 *       "bk_biz_name": "shop",
                 *       "sets": [
                 *         {
                 *           "bk_set_env": 3,
                 *           "bk_set_name": "eu",
                 *           "modules": [
                 *             {
                 *               "bk_module_name": "cart",
                 *               "hosts": [
                 *                 "10.0.0.1",
                 *                 "10.0.0.2"
                 *               ],
                 *               "processes": [
                 *                 {
                 *                   "bk_process_name": "cart",
                 *                   "bk_start_check_secs": 5,
                 *                   "pid_file": "run/cart_${local_inst_id}.pid",
                 *                   "priority": 1,
                 *                   "proc_num": 2,
                 *                   "process_template_id": 7,
                 *                   "start_cmd": "bin/cart --config conf/cart_${local_inst_id}.conf",
                 *                   "timeout": 60,
                 *                   "user": "shop",
                 *                   "work_path": "/opt/shop/cart"
                 *                 }
                 *               ]
                 *             }
                 *           ]
                 *         }
                 *       ],
                 *       "variables": {
                 *         "port": 8000
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["BusinessDocument"];
            };
        };
        responses: {
            /** @description What changed, or would change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Difference"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    remove_topology: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was removed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Difference"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_tree: {
        parameters: {
            query?: {
                /** @description test, experience or formal; all if not given */
                env?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sets and modules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BusinessTree"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    drain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It drains */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Draining"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description There is no other replica that takes agents */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    stop_draining: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It takes agents */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Draining"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_events: {
        parameters: {
            query?: {
                /** @description One or more, repeated or separated by commas */
                namespace?: string;
                /** @description Only of processes of this name */
                name?: string;
                /** @description One or more of CLOUD:IP or IP, repeated or separated by commas */
                host?: string;
                /** @description One or more kinds, repeated or separated by commas */
                kind?: string;
                /** @description Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                since?: string;
                /** @description Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                until?: string;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
                /** @description `next` of the page before */
                before?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    count_events: {
        parameters: {
            query?: {
                /** @description How long a bucket of time is, from 1m to 30d: 5m, 1h, 1d; 1h if not given; at most 1000 between since and until */
                bucket?: string;
                /** @description kind, process or host; kind if not given */
                by?: string;
                /** @description How many values, 1 to 100; 20 if not given */
                top?: number;
                /** @description One or more, repeated or separated by commas */
                namespace?: string;
                /** @description Only of processes of this name */
                name?: string;
                /** @description One or more of CLOUD:IP or IP, repeated or separated by commas */
                host?: string;
                /** @description One or more kinds, repeated or separated by commas */
                kind?: string;
                /** @description Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d; 24h if not given */
                since?: string;
                /** @description Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventCounts"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    explain_expression: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "business": 2,
                 *       "env": "formal",
                 *       "expression": "eu.cart"
                 *     }
                 */
                "application/json": components["schemas"]["ExplainBody"];
            };
        };
        responses: {
            /** @description What it means */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explained"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    state_figures: {
        parameters: {
            query?: {
                /** @description How far back, from 5m to 24h; 24h if not given */
                window?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Figures */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateFigures"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_groups: {
        parameters: {
            query: {
                /** @description One or more of CLOUD:IP or IP, repeated or separated by commas */
                host: string;
            };
            header?: never;
            path: {
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The groups of each host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    set_groups: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example web */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "hosts": [
                 *         "10.0.0.1",
                 *         "10.0.0.2"
                 *       ],
                 *       "process_group": [
                 *         {
                 *           "id": "front",
                 *           "resource": {
                 *             "cpu_pool_limit": 60,
                 *             "mem_pool_limit": 40
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["GroupsBody"];
            };
        };
        responses: {
            /** @description A result per host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Results"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_hosts: {
        parameters: {
            query?: {
                /** @description Words, separated by blanks; each must be part of the address, the hostname or the agent's id. Upper and lower case are the same */
                q?: string;
                /** @description Whether its agent is connected */
                connected?: boolean;
                /** @description Versions of agents, repeated or separated by commas */
                version?: string;
                /** @description Ids of cloud areas, repeated or separated by commas */
                cloud?: string;
                /** @description Some of host, hostname, version, since and processes, each with - before it for descending; by id if not given */
                order?: string;
                /** @description The first row, from 0 */
                start?: number;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of hosts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostPage"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_host: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description CLOUD:IP */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostRow"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    set_agent_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description CLOUD:IP
                 * @example 0:10.0.0.1
                 */
                host: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "agent_id": "0100005254008ed86116666614661851"
                 *     }
                 */
                "application/json": components["schemas"]["AgentIdBody"];
            };
        };
        responses: {
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Results"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    held_on_host: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description CLOUD:IP */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is held and where it differs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeldAnswer"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    revoke_host: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description CLOUD:IP */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description Only of this business */
                business?: number;
                /** @description Only with this action */
                action?: string;
                /** @description pending, running, succeeded or failed */
                status?: string;
                /** @description Only those of this user */
                user?: string;
                /** @description Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                since?: string;
                /** @description Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                until?: string;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
                /** @description `next` of the page before */
                before?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Jobs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    create_job: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "restart",
                 *       "business": 2,
                 *       "env": "formal",
                 *       "expression": "eu.cart",
                 *       "options": {
                 *         "batch_size": 10,
                 *         "isolation": "host",
                 *         "max_failures": 0
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["JobBody"];
            };
        };
        responses: {
            /** @description Of a dry run: what the job would act on */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationPlanView"];
                };
            };
            /** @description The job is kept, and its tasks begin */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobBegun"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Another number of processes is selected than `expect_count` says */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_job: {
        parameters: {
            query?: {
                /** @description How long to wait for it to move, such as 30s; 60s at most */
                wait?: string;
                /** @description How many tasks had ended when it was last seen; its end if not given */
                ended?: number;
                /** @description Only tasks in one of these statuses, repeated or separated by commas */
                status?: string;
                /** @description Only tasks with one of these codes, repeated or separated by commas */
                code?: string;
                /** @description Only failures with a reason like this one, as their groups have it */
                reason?: string;
                /** @description Only on these hosts: CLOUD:IP or IP, repeated or separated by commas */
                host?: string;
                /** @description Words; each must be part of the process, its expression, the host or the reason */
                q?: string;
                /** @description The first task, from 0 */
                start?: number;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing more begins */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCreated"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description It is over */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_job_failures: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Groups, the largest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureGroups"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_job_hosts: {
        parameters: {
            query?: {
                /** @description Only of tasks in one of these statuses, repeated or separated by commas */
                status?: string;
                /** @description Only of tasks with one of these codes, repeated or separated by commas */
                code?: string;
                /** @description Only of failures with a reason like this one, as their groups have it */
                reason?: string;
                /** @description Only these hosts: CLOUD:IP or IP, repeated or separated by commas */
                host?: string;
                /** @description Words; each must be part of the process, its expression, the host or the reason */
                q?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Each host once; an address alone is in cloud area 0 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    pause_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing more begins */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCreated"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description It is over */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    resume_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It goes on */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCreated"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description It is over */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    retry_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "codes": [
                 *         1
                 *       ],
                 *       "hosts": [
                 *         "10.0.0.1",
                 *         "10.0.0.2"
                 *       ],
                 *       "tasks": [
                 *         0,
                 *         1
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RetryBody"];
            };
        };
        responses: {
            /** @description They begin; those of a paused job once it is resumed */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRetried"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description None of them has failed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "password": "correct horse battery staple",
                 *       "username": "bob"
                 *     }
                 */
                "application/json": components["schemas"]["LoginBody"];
            };
        };
        responses: {
            /** @description Logged in */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoggedIn"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    create_login_code: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user": "bob"
                 *     }
                 */
                "application/json": components["schemas"]["LoginCodeBody"];
            };
        };
        responses: {
            /** @description The code, shown this once */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginCodeCreated"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Logged out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_logins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Logins that have not ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    end_login: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    change_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "new": "staple battery horse correct",
                 *       "old": "correct horse battery staple"
                 *     }
                 */
                "application/json": components["schemas"]["PasswordBody"];
            };
        };
        responses: {
            /** @description Changed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_names: {
        parameters: {
            query?: {
                /** @description How the names begin, such as web/ng */
                prefix?: string;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Names */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NameList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    operate_processes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "operations": [
                 *         {
                 *           "all": true,
                 *           "op": "reload",
                 *           "process": "web/nginx"
                 *         },
                 *         {
                 *           "hosts": [
                 *             "10.0.0.2"
                 *           ],
                 *           "labels": {
                 *             "tier": "back"
                 *           },
                 *           "op": "start",
                 *           "process": "web/worker",
                 *           "spec": {
                 *             "control": {
                 *               "start_cmd": "./worker.py --queue orders"
                 *             },
                 *             "identity": {
                 *               "pid_path": "/opt/worker/run/worker.pid",
                 *               "proc_name": "worker.py",
                 *               "setup_path": "/opt/worker",
                 *               "user": "worker"
                 *             },
                 *             "monitor_policy": {
                 *               "auto_type": 1
                 *             },
                 *             "resource": {
                 *               "cpu": 0,
                 *               "mem": 0
                 *             },
                 *             "runtime": {
                 *               "env": {
                 *                 "LOG_LEVEL": "info"
                 *               },
                 *               "memory_max": 536870912
                 *             }
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["OperationsBody"];
            };
        };
        responses: {
            /** @description Of a dry run: what would be done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationPlanView"];
                };
            };
            /** @description Accepted, durably: a task, or with `options` a job with `job_id` in place of `task_id` */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operated"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The filter matches another number of processes than `expect_count` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_processes: {
        parameters: {
            query?: {
                /** @description One or more, repeated or separated by commas, as all lists here */
                namespace?: string;
                /** @description Names of processes, in any namespace */
                name?: string;
                /** @description One or more of CLOUD:IP or IP */
                host?: string;
                /**
                 * @description NAMESPACE/NAME, each with or without the wildcards of expressions: app/*, [web,db]/api-?; repeated for several, of which
                 *     one must match
                 */
                process?: string;
                /**
                 * @description Tests of labels that must all hold, separated by commas: tier=front, tier!=front, tier (it is there), !tier (it is not);
                 *     \ before a character that stands for itself
                 */
                label?: string;
                /** @description One or more of running, starting, unhealthy, backoff, failed, stopped, completed, scheduled and unknown */
                state?: string;
                /** @description What is wanted: running or stopped */
                wanted?: string;
                /** @description Whether the agent keeps it as wanted */
                managed?: boolean;
                /** @description Whether its host's agent is connected */
                connected?: boolean;
                /** @description Whether its run began with an older spec, whose changes take effect only at the next start */
                restart_needed?: boolean;
                /** @description Ids of businesses */
                business?: string;
                /** @description Environments of businesses: test, experience, formal */
                env?: string;
                /** @description Ids of cloud areas */
                cloud?: string;
                /** @description Versions of agents */
                version?: string;
                /**
                 * @description Words, separated by blanks; each must be part of NAMESPACE/NAME, the host's address or name, or the value of a label.
                 *     Upper and lower case are the same
                 */
                q?: string;
                /** @description Up to three of state (what needs attention first), restarts, last_exit (when), started, cpu, mem, name, host and registered, each with - before it for descending; by id if not given */
                order?: string;
                /** @description Only these members of each row */
                fields?: string;
                /** @description The first row, from 0 */
                start?: number;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of processes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessPage"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    count_processes: {
        parameters: {
            query: {
                /** @description Some of namespace, business, env, set, module, name, state, wanted, managed, connected, cloud and version. Each is not narrowed by its own part of the filter, so that its other values are seen */
                by: string;
                /** @description One or more, repeated or separated by commas, as all lists here */
                namespace?: string;
                /** @description Names of processes, in any namespace */
                name?: string;
                /** @description One or more of CLOUD:IP or IP */
                host?: string;
                /**
                 * @description NAMESPACE/NAME, each with or without the wildcards of expressions: app/*, [web,db]/api-?; repeated for several, of which
                 *     one must match
                 */
                process?: string;
                /**
                 * @description Tests of labels that must all hold, separated by commas: tier=front, tier!=front, tier (it is there), !tier (it is not);
                 *     \ before a character that stands for itself
                 */
                label?: string;
                /** @description One or more of running, starting, unhealthy, backoff, failed, stopped, completed, scheduled and unknown */
                state?: string;
                /** @description What is wanted: running or stopped */
                wanted?: string;
                /** @description Whether the agent keeps it as wanted */
                managed?: boolean;
                /** @description Whether its host's agent is connected */
                connected?: boolean;
                /** @description Whether its run began with an older spec, whose changes take effect only at the next start */
                restart_needed?: boolean;
                /** @description Ids of businesses */
                business?: string;
                /** @description Environments of businesses: test, experience, formal */
                env?: string;
                /** @description Ids of cloud areas */
                cloud?: string;
                /** @description Versions of agents */
                version?: string;
                /**
                 * @description Words, separated by blanks; each must be part of NAMESPACE/NAME, the host's address or name, or the value of a label.
                 *     Upper and lower case are the same
                 */
                q?: string;
                /** @description How many values of each, 1 to 1000, 50 if not given */
                top?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FacetList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_view: {
        parameters: {
            query: {
                /** @description Its id */
                business: number;
                /** @description test, experience or formal, or 1, 2, 3; all if not given */
                env?: string;
                /** @description Ids of sets. Lists are repeated or separated by commas */
                set?: string;
                /** @description Ids of modules */
                module?: string;
                /** @description Ids of service instances */
                service?: string;
                /** @description Aliases */
                name?: string;
                /** @description Ids of processes */
                id?: string;
                /** @description set.module.service.process.id, in place of set, module, service, name and id */
                expr?: string;
                /** @description Some of running, stopped and unregistered */
                status?: string;
                /**
                 * @description Only with an instance in one of these states: running, starting, unhealthy, backoff, failed, stopped, completed,
                 *     scheduled, unknown; or unregistered
                 */
                state?: string;
                /** @description Whether an instance runs with an older spec until it is restarted */
                restart_needed?: boolean;
                /** @description Whether all instances are managed */
                managed?: boolean;
                /** @description Whether the agent of its host is connected */
                connected?: boolean;
                /** @description Addresses of hosts */
                ip?: string;
                /** @description Ids of cloud areas */
                cloud?: string;
                /** @description Parts of the address or of the name of the cloud area, set, module, service instance or process; all must match */
                search?: string;
                /** @description Some of set, module, name, id, ip, status (what does not run first), state (what needs attention first) and started, each with - before it for descending */
                order?: string;
                /** @description The first row, from 0 */
                start?: number;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of processes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ViewList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    count_view: {
        parameters: {
            query: {
                /** @description Some of env, set, module, service, name, status, state (a process counts for each state that an instance is in), managed, connected and cloud. Each is not narrowed by its own part of the filter; an expression narrows all */
                by: string;
                /** @description Its id */
                business: number;
                /** @description test, experience or formal, or 1, 2, 3; all if not given */
                env?: string;
                /** @description Ids of sets. Lists are repeated or separated by commas */
                set?: string;
                /** @description Ids of modules */
                module?: string;
                /** @description Ids of service instances */
                service?: string;
                /** @description Aliases */
                name?: string;
                /** @description Ids of processes */
                id?: string;
                /** @description set.module.service.process.id, in place of set, module, service, name and id */
                expr?: string;
                /** @description Some of running, stopped and unregistered */
                status?: string;
                /**
                 * @description Only with an instance in one of these states: running, starting, unhealthy, backoff, failed, stopped, completed,
                 *     scheduled, unknown; or unregistered
                 */
                state?: string;
                /** @description Whether an instance runs with an older spec until it is restarted */
                restart_needed?: boolean;
                /** @description Whether all instances are managed */
                managed?: boolean;
                /** @description Whether the agent of its host is connected */
                connected?: boolean;
                /** @description Addresses of hosts */
                ip?: string;
                /** @description Ids of cloud areas */
                cloud?: string;
                /** @description Parts of the address or of the name of the cloud area, set, module, service instance or process; all must match */
                search?: string;
                /** @description How many values of each, 1 to 1000, 50 if not given */
                top?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FacetList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_process: {
        parameters: {
            query?: {
                /** @description The first row, from 0 */
                start?: number;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
            };
            header?: never;
            path: {
                namespace: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessDetail"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    update_process: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example web */
                namespace: string;
                /** @example nginx */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "hosts": [
                 *         "10.0.0.1",
                 *         "10.0.0.2"
                 *       ],
                 *       "labels": {
                 *         "tier": "front"
                 *       },
                 *       "spec": {
                 *         "control": {
                 *           "health_cmd": "curl -fsS http://127.0.0.1/healthz",
                 *           "reload_cmd": "/usr/sbin/nginx -s reload",
                 *           "start_cmd": "/usr/sbin/nginx",
                 *           "stop_cmd": "/usr/sbin/nginx -s quit",
                 *           "version_cmd": "/usr/sbin/nginx -v"
                 *         },
                 *         "identity": {
                 *           "log_path": "/var/log/nginx",
                 *           "pid_path": "/run/nginx.pid",
                 *           "proc_name": "nginx",
                 *           "setup_path": "/etc/nginx",
                 *           "user": "root"
                 *         },
                 *         "monitor_policy": {
                 *           "auto_type": 1,
                 *           "start_check_secs": 5
                 *         },
                 *         "resource": {
                 *           "cpu": 50,
                 *           "mem": 20
                 *         },
                 *         "runtime": {
                 *           "nofile": 65536
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["RegisterBody"];
            };
        };
        responses: {
            /** @description A result per host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Results"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    register_process: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example web */
                namespace: string;
                /** @example nginx */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "hosts": [
                 *         "10.0.0.1",
                 *         "10.0.0.2"
                 *       ],
                 *       "labels": {
                 *         "tier": "front"
                 *       },
                 *       "spec": {
                 *         "control": {
                 *           "reload_cmd": "/usr/sbin/nginx -s reload",
                 *           "start_cmd": "/usr/sbin/nginx",
                 *           "stop_cmd": "/usr/sbin/nginx -s quit",
                 *           "version_cmd": "/usr/sbin/nginx -v"
                 *         },
                 *         "identity": {
                 *           "log_path": "/var/log/nginx",
                 *           "pid_path": "/run/nginx.pid",
                 *           "proc_name": "nginx",
                 *           "setup_path": "/etc/nginx",
                 *           "user": "root"
                 *         },
                 *         "monitor_policy": {
                 *           "auto_type": 1,
                 *           "start_check_secs": 5
                 *         },
                 *         "resource": {
                 *           "cpu": 50,
                 *           "mem": 20
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["RegisterBody"];
            };
        };
        responses: {
            /** @description A result per host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Results"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Every host has it registered with another spec */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Results"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    unregister_process: {
        parameters: {
            query?: {
                /** @description On every host where it is registered */
                all?: boolean;
            };
            header?: never;
            path: {
                /** @example web */
                namespace: string;
                /** @example nginx */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "hosts": [
                 *         "10.0.0.2"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["HostsBody"];
            };
        };
        responses: {
            /** @description A result per host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Results"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    process_figures: {
        parameters: {
            query?: {
                /** @description CLOUD:IP or IP; may be left out where the process is on one host only */
                host?: string;
            };
            header?: never;
            path: {
                namespace: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Figures */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessFigures"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    process_logs: {
        parameters: {
            query?: {
                /** @description CLOUD:IP or IP; may be left out where the process is on one host only */
                host?: string;
                /** @description How many of the last lines, 0 to 100000; 100 if not given */
                tail?: number;
                /** @description Whether to go on with what is written later */
                follow?: boolean;
                /** @description The run before the current one, or before the last one of a process that does not run; not with `follow` */
                previous?: boolean;
                /** @description Only what was written within this time, such as `30s`, `10m`, `2h` or `1d`, of all kept runs; up to a minute more may be shown */
                since?: string;
                /** @description Only lines that match this regular expression, without look-around and back-references; `tail` counts these lines */
                grep?: string;
                /** @description `text`, or `json`: one `LogPiece` on each line, an empty one at least every 10 seconds */
                format?: string;
            };
            header?: never;
            path: {
                namespace: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The output as it is. A last line that begins with `muster:` says why it ends early. With `format=json` a `LogPiece` on each line */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                    "application/x-ndjson": components["schemas"]["LogPiece"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    operate_process: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example web */
                namespace: string;
                /** @example nginx */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "hosts": [
                 *         "10.0.0.1",
                 *         "10.0.0.2"
                 *       ],
                 *       "op": "start"
                 *     }
                 */
                "application/json": components["schemas"]["OperateBody"];
            };
        };
        responses: {
            /** @description Accepted, durably */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operated"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    why: {
        parameters: {
            query?: {
                /** @description CLOUD:IP or IP; may be left out where the process is on one host only */
                host?: string;
            };
            header?: never;
            path: {
                namespace: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Why */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_replicas: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The replicas */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplicaList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    search: {
        parameters: {
            query: {
                /** @description Words, separated by blanks, that must all be part of a name or an address. Upper and lower case are the same */
                q: string;
                /** @description How many of each kind, 1 to 100, 10 if not given */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The first of each kind */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResult"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    summary: {
        parameters: {
            query?: {
                /** @description One or more, repeated or separated by commas */
                namespace?: string;
                /** @description One or more ids of businesses, repeated or separated by commas */
                business?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The fleet in a few numbers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FleetSummary"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_tasks: {
        parameters: {
            query?: {
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
                /** @description Only tasks older than this one */
                before?: string;
                /** @description With a target in one of these, repeated or separated by commas */
                namespace?: string;
                /** @description With a target of this process, NAMESPACE/NAME */
                process?: string;
                /** @description With this operation: start, stop, query, manage, unmanage, restart, reload or kill */
                op?: string;
                /** @description Only those of this user */
                user?: string;
                /** @description Only those of this app */
                app?: string;
                /** @description running or finished */
                state?: string;
                /** @description Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                since?: string;
                /** @description Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tasks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    show_task: {
        parameters: {
            query?: {
                /** @description How long to wait for its end, such as 30s; 60s at most */
                wait?: string;
                /** @description Only targets that have ended and not well */
                failed?: boolean;
                /** @description Only targets in one of these: ok, failed, running; repeated or separated by commas */
                status?: string;
                /** @description Only targets with one of these codes, repeated or separated by commas */
                code?: string;
                /** @description Only failures with a reason like this one, as their groups have it */
                reason?: string;
                /** @description Only on these hosts: CLOUD:IP or IP, repeated or separated by commas */
                host?: string;
                /** @description Words; each must be part of the process, the host or the message */
                q?: string;
                /** @description The first result, from 0 */
                start?: number;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description GSETASK:… */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDetail"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_task_failures: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Groups, the largest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureGroups"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_task_hosts: {
        parameters: {
            query?: {
                /** @description Only of targets in one of these: ok, failed, running; repeated or separated by commas */
                status?: string;
                /** @description Only of targets with one of these codes, repeated or separated by commas */
                code?: string;
                /** @description Only of failures with a reason like this one, as their groups have it */
                reason?: string;
                /** @description Only these hosts: CLOUD:IP or IP, repeated or separated by commas */
                host?: string;
                /** @description Words; each must be part of the process, the host or the message */
                q?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Each host once; an address alone is in cloud area 0 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    retry_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example GSETASK:000066A1B2C3D4E5 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "codes": [
                 *         1
                 *       ],
                 *       "hosts": [
                 *         "10.0.0.1"
                 *       ],
                 *       "reason": "no such file"
                 *     }
                 */
                "application/json": components["schemas"]["TaskRetryBody"];
            };
        };
        responses: {
            /** @description Accepted, durably */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operated"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description None of them has failed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    timeline: {
        parameters: {
            query?: {
                /** @description Only of this process: NAMESPACE/NAME; with a host also of its agent */
                process?: string;
                /** @description Only on this host: CLOUD:IP or IP */
                host?: string;
                /** @description Some of event, operation, agent, spec, config and health, repeated or separated by commas */
                kinds?: string;
                /** @description Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                since?: string;
                /** @description Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d */
                until?: string;
                /** @description 1 to 1000, 100 if not given */
                limit?: number;
                /** @description `next` of the page before */
                before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What happened */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelineList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All join tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "expires_in": "24h",
                 *       "host": "0:10.0.0.3",
                 *       "uses": 1
                 *     }
                 */
                "application/json": components["schemas"]["TokenBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    delete_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_users: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All users */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    create_user: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "grants": [
                 *         {
                 *           "role": "viewer"
                 *         }
                 *       ],
                 *       "name": "bob",
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": components["schemas"]["UserBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedUser"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description It exists */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    delete_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    grant_to_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example bob */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "businesses": [
                 *         2
                 *       ],
                 *       "namespaces": [
                 *         "web"
                 *       ],
                 *       "role": "operator"
                 *     }
                 */
                "application/json": components["schemas"]["GrantBody"];
            };
        };
        responses: {
            /** @description All that they have now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    revoke_from_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example bob */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "role": "viewer"
                 *     }
                 */
                "application/json": components["schemas"]["GrantBody"];
            };
        };
        responses: {
            /** @description All that they have left */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description An admin cannot give up the role: another admin can take it */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    watch: {
        parameters: {
            query?: {
                /** @description One or more, repeated or separated by commas */
                namespace?: string;
                /** @description One or more ids of businesses, repeated or separated by commas */
                business?: string;
                /** @description NAMESPACE/NAME, each with or without the wildcards of expressions, repeated for several: only statuses, events, registrations and tasks of these */
                process?: string;
                /** @description One or more of CLOUD:IP or IP, repeated or separated by commas */
                host?: string;
                /** @description Some of status, task, job, event, agent, registration, topology, template and summary; all but summary if not given */
                kinds?: string;
                /** @description From 100ms to 10s: events named changes, at most one in this time, with the last change of each process, task, job and agent */
                every?: string;
                /** @description The id of the last event that was read */
                since?: string;
            };
            header?: {
                /** @description The same, as browsers send it */
                "Last-Event-ID"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events named after the kinds and lagged, each with a JSON object; with every, events named changes: {"changes":[{"kind":"status",…}]} */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All webhooks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookList"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kinds": [
                 *         "process_exit"
                 *       ],
                 *       "namespaces": [
                 *         "web"
                 *       ],
                 *       "url": "https://hooks.example.org/muster"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedWebhook"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description There are too many */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was tried */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTest"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoAmI"];
                };
            };
            /** @description The request breaks a rule; `field` says where. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The credentials are missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The caller may not do this, or a page of another origin asks with a cookie. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description What was named does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The path does not take this method. */
            405: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The body is not `application/json`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The app asks faster than it may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description The server failed; its log says why. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
            /** @description Trying again later may help; nothing was changed. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        error: components["schemas"]["ErrorDetail"];
                    };
                };
            };
        };
    };
}
