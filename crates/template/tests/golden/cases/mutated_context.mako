<% names.append('omega'); limits['new'] = 1 %>${names} ${limits}
